// Two threads free the same block; the program goes on to its end.
// expect: heap-use-after-free
// shows: always
// tsan: misses (its own allocator takes the block back twice)
#include "../threads.h"
#include "../invisible.h"

static int *block;

static void first(void) {
    free(block); // RACE
    invisible_step();
}

static void second(void) {
    invisible_await(1);
    free(block); // RACE
}

int main(void) {
    block = calloc(10, sizeof *block);
    together(first, second);
    int *a = calloc(10, sizeof *a), *b = calloc(10, sizeof *b);
    if (a == b)
        abort();
    free(a);
    free(b);
}
