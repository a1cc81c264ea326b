// Peterson's mutual exclusion with relaxed atomics: it needs sequential
// consistency, and the data race.
// expect: race
// shows: always
#include "../threads.h"
#include <stdatomic.h>

static atomic_int wants[2], turn;
static long data;

static NOINLINE void critical(int me) {
    atomic_store_explicit(&wants[me], 1, memory_order_relaxed);
    atomic_store_explicit(&turn, 1 - me, memory_order_relaxed);
    while (atomic_load_explicit(&wants[1 - me], memory_order_relaxed) &&
           atomic_load_explicit(&turn, memory_order_relaxed) == 1 - me)
        usleep(100);
    data++; // RACE
    atomic_store_explicit(&wants[me], 0, memory_order_relaxed);
}

static void left(void) { critical(0); }
static void right(void) { critical(1); }

int main(void) {
    together(left, right);
    return data == 0;
}
