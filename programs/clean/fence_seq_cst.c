// Sequentially consistent fences are release and acquire fences, too.
// tsan: false-alarm (it does not model fences)
#include "../threads.h"
#include "../fences.h"
#include <stdatomic.h>

static long payload;
static atomic_int flag;

static void producer(void) {
    payload = 42;
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
}

static void consumer(void) {
    while (!atomic_load_explicit(&flag, memory_order_relaxed)) usleep(100);
    atomic_thread_fence(memory_order_seq_cst);
    if (payload != 42) abort();
}

int main(void) { together(producer, consumer); }
