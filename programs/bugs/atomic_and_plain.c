// One thread uses an atomic operation, the other plain memory.
// expect: race
// shows: always
#include "../threads.h"

static int counter;

static void careful(void) { __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST); } // RACE
static void careless(void) { counter = 0; }                                      // RACE

int main(void) {
    together(careful, careless);
    return counter > 1;
}
