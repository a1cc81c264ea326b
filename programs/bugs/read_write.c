// A read, and later in time a write that nothing orders after it.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static int shared;

static void reader(void) {
    use(shared); // RACE
    invisible_step();
}

static void writer(void) {
    invisible_await(1);
    shared = 1; // RACE
}

int main(void) { together(reader, writer); }
