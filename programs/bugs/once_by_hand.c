// pthread_once guards one call site, a plain flag the other.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static long table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void build(void) { table = 42; } // RACE

static void proper(void) {
    pthread_once(&once, build);
    use(table);
    invisible_step();
}

static void hasty(void) {
    invisible_await(1);
    if (table == 0) abort(); // RACE
}

int main(void) { together(proper, hasty); }
