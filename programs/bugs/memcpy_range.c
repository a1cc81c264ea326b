// memcpy reads a range that another thread is writing in the middle of.
// expect: race
// shows: always
#include "../threads.h"
#include <string.h>

static char source[256], copy[256];

static void copier(void) { memcpy(copy, source, sizeof source); } // RACE
static void writer(void) { source[100] = 1; }                     // RACE

int main(void) {
    together(copier, writer);
    use(copy[100]);
}
