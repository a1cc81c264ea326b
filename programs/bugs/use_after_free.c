// One thread frees the block, another reads it afterwards; nothing orders them.
// expect: heap-use-after-free
// shows: always
#include "../threads.h"
#include "../invisible.h"

static int *block;

static void owner(void) {
    free(block); // RACE
    invisible_step();
}

static void reader(void) {
    invisible_await(1);
    use(block[4]); // RACE
}

int main(void) {
    block = calloc(10, sizeof *block);
    together(owner, reader);
}
