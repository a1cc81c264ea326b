// A thread writes where the C library keeps its notes of free blocks, while the
// one that has freed the block is about to end; the program goes on to its end.
// expect: heap-use-after-free
// shows: always
#include "../threads.h"
#include "../invisible.h"

static long *block;

static void owner(void) {
    free(block); // RACE
    invisible_step();
    invisible_await(2);
}

static void writer(void) {
    invisible_await(1);
    block[0] = 42; // RACE
    invisible_step();
}

int main(void) {
    block = calloc(10, sizeof *block);
    together(owner, writer);
}
