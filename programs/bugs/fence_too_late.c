// The release fence stands after the store that should publish.
// expect: race
// shows: always
#include "../threads.h"
#include "../fences.h"
#include <stdatomic.h>

static long payload;
static atomic_int ready;

static void producer(void) {
    payload = 42; // RACE
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static void consumer(void) {
    while (!atomic_load_explicit(&ready, memory_order_relaxed)) usleep(100);
    atomic_thread_fence(memory_order_acquire);
    use(payload); // RACE
}

int main(void) { together(producer, consumer); }
