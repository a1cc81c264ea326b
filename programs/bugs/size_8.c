// A race on eight bytes.
// expect: race
// shows: always
#include "../threads.h"

static struct {
    long before, shared, after;
} box;

static void writer(void) { box.shared = 1; }  // RACE
static void reader(void) { use(box.shared); } // RACE

int main(void) { together(writer, reader); }
