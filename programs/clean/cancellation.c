// A cancelled thread runs its cleanup handlers, which unlock what it held.
// tsan: false-alarm (after the unwinding out of sleep it does not see the unlock)
#include "../threads.h"
#include <assert.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int started;
static long cleanups;

static void cleanup(void *arg) {
    (void)arg;
    cleanups++; // the lock is still held
    pthread_mutex_unlock(&lock);
}

static void *victim(void *arg) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(cleanup, NULL);
    atomic_store(&started, 1);
    for (;;) sleep(1); // a cancellation point
    pthread_cleanup_pop(1);
    return arg;
}

int main(void) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, victim, NULL);
    while (!atomic_load(&started)) usleep(100);
    pthread_cancel(thread);
    pthread_mutex_lock(&lock);
    cleanups++;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, &result);
    assert(result == PTHREAD_CANCELED && cleanups == 2);
}
