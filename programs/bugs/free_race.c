// One thread reads the block, another frees it later, but only by luck later.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static int *block;

static void reader(void) {
    use(block[4]); // RACE
    invisible_step();
}

static void owner(void) {
    invisible_await(1);
    free(block); // RACE
}

int main(void) {
    block = calloc(10, sizeof *block);
    together(reader, owner);
}
