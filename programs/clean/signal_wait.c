// A thread takes signals synchronously with sigwait; kill goes to the process.
#include "../threads.h"
#include <signal.h>
#include <stdatomic.h>

static sigset_t set;
static atomic_long payload;

static void waiter(void) {
    int number;
    if (sigwait(&set, &number) != 0 || number != SIGUSR2) abort();
    if (atomic_load_explicit(&payload, memory_order_acquire) != 42) abort();
}

static void sender(void) {
    atomic_store_explicit(&payload, 42, memory_order_release);
    kill(getpid(), SIGUSR2);
}

int main(void) {
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    together(waiter, sender);
}
