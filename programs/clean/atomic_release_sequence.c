// Relaxed read-modify-writes by other threads continue a release sequence: who
// acquires the last value still synchronises with the releaser.
#include "../threads.h"
#include <stdatomic.h>

static long payload;
static atomic_int stage;

static void producer(void) {
    payload = 42;
    atomic_store_explicit(&stage, 1, memory_order_release);
}

static void relay(void) {
    int one = 1;
    while (!atomic_compare_exchange_weak_explicit(&stage, &one, 2, memory_order_relaxed,
                                                  memory_order_relaxed)) {
        one = 1;
        usleep(100);
    }
}

static void consumer(void) {
    while (atomic_load_explicit(&stage, memory_order_acquire) != 2) usleep(100);
    if (payload != 42) abort();
}

int main(void) { together(producer, relay, consumer); }
