// A handler leaves by siglongjmp; the signal mask is restored with it.
#include "../threads.h"
#include <assert.h>
#include <setjmp.h>
#include <signal.h>

static _Thread_local sigjmp_buf escape;

static void handler(int number) { siglongjmp(escape, number); }

static void worker(void) {
    for (volatile int i = 0; i < 50; i++) {
        int number = sigsetjmp(escape, 1);
        if (number == 0) raise(SIGUSR1);
        assert(number == SIGUSR1);
    }
}

int main(void) {
    signal(SIGUSR1, handler);
    together(worker, worker);
}
