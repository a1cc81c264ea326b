// A zero-width bit-field separates memory locations: these two may be written by
// two threads.
#include "../threads.h"

static struct {
    unsigned ready : 1;
    unsigned : 0;
    unsigned done : 1;
} state;

static void producer(void) { state.ready = 1; }
static void consumer(void) { state.done = 1; }

int main(void) {
    together(producer, consumer);
    return !(state.ready && state.done);
}
