// A compare-exchange that fails still acquires, if its failure order says so.
#include "../threads.h"
#include <stdatomic.h>

static long payload;
static atomic_int flag;

static void producer(void) {
    payload = 42;
    atomic_store_explicit(&flag, 1, memory_order_release);
}

static void consumer(void) {
    int expected;
    do {
        usleep(100);
        expected = 7; // never there: always fails
        atomic_compare_exchange_strong_explicit(&flag, &expected, 8, memory_order_acquire,
                                                memory_order_acquire);
    } while (expected != 1);
    if (payload != 42) abort();
}

int main(void) { together(producer, consumer); }
