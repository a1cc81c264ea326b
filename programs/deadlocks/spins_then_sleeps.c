// Who waits looks a few times before it sleeps; who wakes it does so before there is
// anything to see.
// expect: deadlock
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int ready;

static void *waiter(void *unused) {
    for (int i = 0; i < 16; i++) {
        if (atomic_load(&ready))
            return unused;
        if (i >= 12)
            sched_yield();
    }
    while (!atomic_load(&ready))
        syscall(SYS_futex, &ready, FUTEX_WAIT, 0, NULL, NULL, 0); // HERE
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waiter, NULL);
    syscall(SYS_futex, &ready, FUTEX_WAKE, 1, NULL, NULL, 0);
    atomic_store(&ready, 1);
    pthread_join(thread, NULL);
}
