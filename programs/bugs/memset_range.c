// memset clears a range that another thread is reading.
// expect: race
// shows: always
#include "../threads.h"
#include <string.h>

static char buffer[1000];
static volatile size_t size = sizeof buffer;

static void cleaner(void) { memset(buffer, 0, size); } // RACE
static void reader(void) { use(buffer[999]); }         // RACE

int main(void) { together(cleaner, reader); }
