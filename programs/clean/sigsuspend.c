// A signal that is blocked but for the wait for it: it comes in the wait, or was there
// before, perhaps before the thread has begun.
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t got;

static void handle(int signal) {
    (void)signal;
    got = 1;
}

static void *wait_for_it(void *unused) {
    sigset_t others;
    pthread_sigmask(SIG_BLOCK, NULL, &others);
    sigdelset(&others, SIGHUP);
    while (!got) sigsuspend(&others);
    return unused;
}

int main(void) {
    sigset_t hangup;
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &hangup, NULL);
    signal(SIGHUP, handle);
    pthread_t waiter;
    pthread_create(&waiter, NULL, wait_for_it, NULL);
    pthread_kill(waiter, SIGHUP);
    pthread_join(waiter, NULL);
}
