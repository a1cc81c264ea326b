// Two threads write the same variable.
// expect: race
// shows: always
#include "../threads.h"

static int shared;

static void first(void) { shared = 1; }  // RACE
static void second(void) { shared = 2; } // RACE

int main(void) {
    together(first, second);
    return shared == 0;
}
