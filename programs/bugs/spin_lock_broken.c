// A home-made lock: test and set are two steps.
// expect: race l
// expect: race d
// shows: always
#include "../threads.h"

static volatile long locked;
static long data;

static NOINLINE void enter(void) {
    while (locked) // RACE l
        usleep(100);
    locked = 1; // RACE l
}

static NOINLINE void leave(void) {
    locked = 0; // RACE l
}

static void worker(void) {
    enter();
    data++; // RACE d
    leave();
}

int main(void) {
    together(worker, worker);
    return data == 0;
}
