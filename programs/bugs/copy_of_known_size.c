// A record is copied with memcpy and cleared with memset, each of a size that the compiler
// knows: it may do that without a call.
// expect: race
// shows: always
// tsan: misses (gcc copies by itself, and does not instrument that)
#include "../threads.h"
#include <string.h>

struct record {
    long fields[5];
};

static struct record current, copy;

static void clear(void) { memset(&current, 0, sizeof current); }     // RACE
static void save(void) { memcpy(&copy, &current, sizeof current); }  // RACE

int main(void) {
    together(clear, save);
    use(copy.fields[0]);
}
