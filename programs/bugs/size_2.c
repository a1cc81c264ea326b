// A race on two bytes.
// expect: race
// shows: always
#include "../threads.h"

static struct {
    short before, shared, after;
} box;

static void writer(void) { box.shared = 1; }  // RACE
static void reader(void) { use(box.shared); } // RACE

int main(void) { together(writer, reader); }
