// A ring for one producer and one consumer; head and tail are all they share.
#include "../threads.h"
#include <assert.h>
#include <sched.h>
#include <stdatomic.h>

enum { SIZE = 8, ITEMS = 1000 };

static long ring[SIZE], sum;
static atomic_uint head, tail; // next to write, next to read

static void producer(void) {
    for (unsigned i = 0; i < ITEMS; i++) {
        while (i - atomic_load_explicit(&tail, memory_order_acquire) == SIZE) sched_yield();
        ring[i % SIZE] = i;
        atomic_store_explicit(&head, i + 1, memory_order_release);
    }
}

static void consumer(void) {
    for (unsigned i = 0; i < ITEMS; i++) {
        while (atomic_load_explicit(&head, memory_order_acquire) == i) sched_yield();
        sum += ring[i % SIZE];
        atomic_store_explicit(&tail, i + 1, memory_order_release);
    }
}

int main(void) {
    together(producer, consumer);
    assert(sum == ITEMS * (ITEMS - 1) / 2);
}
