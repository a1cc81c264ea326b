// Two threads have the text of an unknown error put into the same buffer.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"
#include <string.h>

static char text[100];

static void first(void) {
    char *said = strerror_r(-1, text, sizeof text); // RACE
    use(said);
    invisible_step();
}

static void second(void) {
    invisible_await(1);
    char *said = strerror_r(-2, text, sizeof text); // RACE
    use(said);
}

int main(void) { together(first, second); }
