// read() fills a buffer that another thread looks at.
// expect: race
// shows: always
#include "../threads.h"

static char buffer[8];
static int ends[2];

static void receiver(void) {
    if (read(ends[0], buffer, sizeof buffer) != 8) abort(); // RACE
}

static void watcher(void) { use(buffer[3]); } // RACE

int main(void) {
    if (pipe(ends) != 0 || write(ends[1], "12345678", 8) != 8) return 1;
    together(receiver, watcher);
}
