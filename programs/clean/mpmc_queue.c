// Vyukov's bounded queue for many producers and consumers: each slot has a number
// that says whose turn it is.
#include "../threads.h"
#include <assert.h>
#include <sched.h>
#include <stdatomic.h>

enum { SIZE = 8, ITEMS = 200 };

static struct { atomic_uint turn; long value; } slots[SIZE];
static atomic_uint head, tail;
static atomic_long sum;

static void put(long value) {
    unsigned mine = atomic_fetch_add_explicit(&head, 1, memory_order_relaxed);
    while (atomic_load_explicit(&slots[mine % SIZE].turn, memory_order_acquire) != mine)
        sched_yield();
    slots[mine % SIZE].value = value;
    atomic_store_explicit(&slots[mine % SIZE].turn, mine + 1, memory_order_release);
}

static long get(void) {
    unsigned mine = atomic_fetch_add_explicit(&tail, 1, memory_order_relaxed);
    while (atomic_load_explicit(&slots[mine % SIZE].turn, memory_order_acquire) != mine + 1)
        sched_yield();
    long value = slots[mine % SIZE].value;
    atomic_store_explicit(&slots[mine % SIZE].turn, mine + SIZE, memory_order_release);
    return value;
}

static void producer(void) {
    for (int i = 0; i < ITEMS; i++) put(i);
}

static void consumer(void) {
    for (int i = 0; i < ITEMS; i++) atomic_fetch_add(&sum, get());
}

int main(void) {
    for (unsigned i = 0; i < SIZE; i++) slots[i].turn = i;
    together(producer, consumer, producer, consumer);
    assert(sum == ITEMS * (ITEMS - 1));
}
