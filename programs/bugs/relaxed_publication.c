// A relaxed store publishes a pointer, but not what it points to.
// expect: race
// shows: always
#include "../threads.h"
#include <stdatomic.h>

static long payload;
static long *_Atomic published;

static void producer(void) {
    payload = 42; // RACE
    atomic_store_explicit(&published, &payload, memory_order_relaxed);
}

static void consumer(void) {
    long *p;
    while ((p = atomic_load_explicit(&published, memory_order_relaxed)) == NULL) usleep(100);
    use(*p); // RACE
}

int main(void) { together(producer, consumer); }
