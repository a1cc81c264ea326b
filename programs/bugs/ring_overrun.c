// A ring for one producer and one consumer, with proper orders, but the producer
// never looks whether the slot has been read.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"
#include <stdatomic.h>

static long slots[2];
static atomic_int head;

static void put(int i, long value) {
    slots[i % 2] = value; // RACE
    atomic_store_explicit(&head, i + 1, memory_order_release);
}

static void producer(void) {
    put(0, 10);
    invisible_await(1);
    put(1, 11);
    put(2, 12); // overwrites slot 0
}

static void consumer(void) {
    while (atomic_load_explicit(&head, memory_order_acquire) < 1) usleep(100);
    use(slots[0]); // RACE
    invisible_step();
}

int main(void) { together(producer, consumer); }
