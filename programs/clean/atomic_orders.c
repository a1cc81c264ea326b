// Message passing with every pair of orders that suffices.
#include "../threads.h"
#include <stdatomic.h>

static long payload[4];
static atomic_int flag[4];

static void producer(void) {
    payload[0] = 1;
    atomic_store_explicit(&flag[0], 1, memory_order_release);
    payload[1] = 2;
    atomic_store_explicit(&flag[1], 1, memory_order_seq_cst);
    payload[2] = 3;
    atomic_exchange_explicit(&flag[2], 1, memory_order_acq_rel);
    payload[3] = 4;
    atomic_fetch_add_explicit(&flag[3], 1, memory_order_release);
}

static void consumer(void) {
    while (!atomic_load_explicit(&flag[0], memory_order_acquire)) usleep(100);
    if (payload[0] != 1) abort();
    while (!atomic_load_explicit(&flag[1], memory_order_seq_cst)) usleep(100);
    if (payload[1] != 2) abort();
    int one = 1;
    while (!atomic_compare_exchange_strong_explicit(&flag[2], &one, 2, memory_order_acquire,
                                                    memory_order_relaxed)) {
        one = 1;
        usleep(100);
    }
    if (payload[2] != 3) abort();
    while (!atomic_fetch_or_explicit(&flag[3], 0, memory_order_acq_rel)) usleep(100);
    if (payload[3] != 4) abort();
}

int main(void) { together(producer, consumer); }
