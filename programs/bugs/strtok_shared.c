// Two threads go through texts of their own by strtok, which keeps in one place how far
// it is.
// expect: race
// shows: always
// tsan: misses (what the C library keeps is not seen)
#include "../threads.h"
#include "../invisible.h"
#include <string.h>

static void first(void) {
    char text[] = "a b c";
    use(strtok(text, " ")); // RACE
    invisible_step();
}

static void second(void) {
    invisible_await(1);
    char text[] = "d e";
    use(strtok(text, " ")); // RACE
}

int main(void) { together(first, second); }
