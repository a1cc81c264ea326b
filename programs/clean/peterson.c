// Peterson's mutual exclusion for two threads, by sequentially consistent atomics.
#include "../threads.h"
#include <assert.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int wants[2], turn;
static int counter;

static NOINLINE void count(int me) {
    for (int i = 0; i < 200; i++) {
        wants[me] = 1;
        turn = 1 - me;
        while (wants[1 - me] && turn == 1 - me) sched_yield();
        counter++;
        wants[me] = 0;
    }
}

static void left(void) { count(0); }
static void right(void) { count(1); }

int main(void) {
    together(left, right);
    assert(counter == 400);
}
