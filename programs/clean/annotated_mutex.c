// A lock of one's own, announced as a mutex by the __tsan_mutex_* calls; what it
// does inside is its own business. Weak, so that the program links anywhere.
#include "../threads.h"
#include <assert.h>
#include <sched.h>
#include <stdatomic.h>

void __tsan_mutex_create(void *, unsigned) __attribute__((weak));
void __tsan_mutex_destroy(void *, unsigned) __attribute__((weak));
void __tsan_mutex_pre_lock(void *, unsigned) __attribute__((weak));
void __tsan_mutex_post_lock(void *, unsigned, int) __attribute__((weak));
int __tsan_mutex_pre_unlock(void *, unsigned) __attribute__((weak));
void __tsan_mutex_post_unlock(void *, unsigned) __attribute__((weak));

static atomic_int held;
static int counter;

static void lock(void) {
    if (__tsan_mutex_pre_lock) __tsan_mutex_pre_lock(&held, 0);
    while (atomic_exchange_explicit(&held, 1, memory_order_relaxed)) sched_yield();
    if (__tsan_mutex_post_lock) __tsan_mutex_post_lock(&held, 0, 0);
}

static void unlock(void) {
    if (__tsan_mutex_pre_unlock) __tsan_mutex_pre_unlock(&held, 0);
    atomic_store_explicit(&held, 0, memory_order_relaxed);
    if (__tsan_mutex_post_unlock) __tsan_mutex_post_unlock(&held, 0);
}

static void count(void) {
    for (int i = 0; i < 200; i++) {
        lock();
        counter++;
        unlock();
    }
}

int main(void) {
    if (__tsan_mutex_create) __tsan_mutex_create(&held, 0);
    together(count, count);
    assert(counter == 400);
    if (__tsan_mutex_destroy) __tsan_mutex_destroy(&held, 0);
}
