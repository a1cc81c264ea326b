// A seqlock whose data are atomics: readers retry what they have read halfway.
// Release stores and acquire loads of the data take the place of fences.
#include "../threads.h"
#include <sched.h>
#include <stdatomic.h>

static atomic_uint sequence;
static atomic_long left, right; // always equal

static void writer(void) {
    for (int i = 1; i <= 200; i++) {
        atomic_fetch_add_explicit(&sequence, 1, memory_order_acquire);
        atomic_store_explicit(&left, i, memory_order_release);
        atomic_store_explicit(&right, i, memory_order_release);
        atomic_fetch_add_explicit(&sequence, 1, memory_order_release);
    }
}

static void reader(void) {
    for (int i = 0; i < 200; i++) {
        unsigned before, after;
        long a, b;
        do {
            before = atomic_load_explicit(&sequence, memory_order_acquire);
            a = atomic_load_explicit(&left, memory_order_acquire);
            b = atomic_load_explicit(&right, memory_order_acquire);
            after = atomic_load_explicit(&sequence, memory_order_relaxed);
            if (before % 2 == 1) sched_yield();
        } while (before != after || before % 2 == 1);
        if (a != b) abort();
    }
}

int main(void) { together(writer, reader); }
