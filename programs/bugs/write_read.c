// A write, and later in time a read that nothing orders after it.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static int shared;

static void writer(void) {
    shared = 1; // RACE
    invisible_step();
}

static void reader(void) {
    invisible_await(1);
    use(shared); // RACE
}

int main(void) { together(writer, reader); }
