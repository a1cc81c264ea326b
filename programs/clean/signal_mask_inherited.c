// A new thread has the signal mask of its maker, whatever is done meanwhile.
#include "../threads.h"
#include <assert.h>
#include <signal.h>

static void check(void) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert(sigismember(&mask, SIGUSR1) && !sigismember(&mask, SIGUSR2));
}

int main(void) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    together(check);
    check();
}
