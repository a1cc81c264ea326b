// One thread sets a variable of the environment while another looks for one: the array may
// move under the eyes of who reads it, and the C library's lock is for writers only.
// expect: race
// shows: always
// tsan: misses (what the C library keeps is not seen)
#include "../threads.h"
#include "../invisible.h"
#include <stdlib.h>

static void reader(void) {
    use(getenv("HOME")); // RACE
    invisible_step();
}

static void writer(void) {
    invisible_await(1);
    setenv("LANGUAGE", "de", 1); // RACE
}

int main(void) { together(reader, writer); }
