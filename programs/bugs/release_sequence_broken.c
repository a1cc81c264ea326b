// Another thread overwrites the released flag with a relaxed store. Who reads the
// flag then synchronises with nobody: the release sequence is broken.
// expect: race
// shows: always
// tsan: misses (a relaxed store leaves the released clock in place)
#include "../threads.h"
#include "../invisible.h"
#include <stdatomic.h>

static long payload;
static atomic_int flag;

static void producer(void) {
    payload = 42; // RACE
    atomic_store_explicit(&flag, 1, memory_order_release);
    invisible_step();
}

static void intruder(void) {
    invisible_await(1);
    atomic_store_explicit(&flag, 2, memory_order_relaxed);
    invisible_step();
}

static void consumer(void) {
    invisible_await(2);
    if (atomic_load_explicit(&flag, memory_order_acquire) == 2) use(payload); // RACE
}

int main(void) { together(producer, intruder, consumer); }
