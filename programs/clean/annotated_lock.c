// A lock of one's own whose atomics are relaxed: __tsan_acquire and __tsan_release
// tell the detector. Weak, so that the program links without any runtime.
#include "../threads.h"
#include <assert.h>
#include <sched.h>
#include <stdatomic.h>

void __tsan_acquire(void *) __attribute__((weak));
void __tsan_release(void *) __attribute__((weak));

static atomic_int held;
static int counter;

static void lock(void) {
    while (atomic_exchange_explicit(&held, 1, memory_order_relaxed)) sched_yield();
    if (__tsan_acquire) __tsan_acquire(&held);
}

static void unlock(void) {
    if (__tsan_release) __tsan_release(&held);
    atomic_store_explicit(&held, 0, memory_order_relaxed);
}

static void count(void) {
    for (int i = 0; i < 200; i++) {
        lock();
        counter++;
        unlock();
    }
}

int main(void) {
    together(count, count);
    assert(counter == 400);
}
