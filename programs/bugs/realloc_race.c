// realloc may move the block while another thread writes to it.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static int *block;

static void writer(void) {
    block[0] = 1; // RACE
    invisible_step();
}

static void grower(void) {
    invisible_await(1);
    block = realloc(block, 100000); // RACE
}

int main(void) {
    block = malloc(10 * sizeof *block);
    together(writer, grower);
    free(block);
}
