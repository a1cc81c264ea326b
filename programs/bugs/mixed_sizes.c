// Eight bytes written by one thread, one of them read by the other.
// expect: race
// shows: always
#include "../threads.h"

static union {
    long whole;
    char bytes[8];
} shared;

static void writer(void) { shared.whole = -1; }    // RACE
static void reader(void) { use(shared.bytes[5]); } // RACE

int main(void) { together(writer, reader); }
