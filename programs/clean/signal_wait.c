// A thread takes signals synchronously with sigwait; kill goes to the process, and who
// waits knows what the sender did before.
#include "../threads.h"
#include <signal.h>

static sigset_t set;
static long payload;

static void waiter(void) {
    int number;
    if (sigwait(&set, &number) != 0 || number != SIGUSR2) abort();
    if (payload != 42) abort();
}

static void sender(void) {
    payload = 42;
    kill(getpid(), SIGUSR2);
}

int main(void) {
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    together(waiter, sender);
}
