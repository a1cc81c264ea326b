// One thread closes the descriptor that another is using: the number may by then
// belong to another file.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static int ends[2];

static void writer(void) {
    if (write(ends[1], "x", 1) != 1) abort(); // RACE
    invisible_step();
}

static void closer(void) {
    invisible_await(1);
    close(ends[1]); // RACE
}

int main(void) {
    if (pipe(ends) != 0) return 1;
    together(writer, closer);
    close(ends[0]);
}
