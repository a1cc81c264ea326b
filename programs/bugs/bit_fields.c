// Two bit-fields in one byte: to write one is to read and write both.
// expect: race
// shows: always
#include "../threads.h"

static struct {
    unsigned ready : 1;
    unsigned done : 1;
} state;

static void producer(void) { state.ready = 1; } // RACE
static void consumer(void) { state.done = 1; }  // RACE

int main(void) {
    together(producer, consumer);
    return state.ready == 0 && state.done == 0;
}
