// A thread reads a block that it has freed itself.
// expect: heap-use-after-free
// shows: always
#include "../threads.h"

static int *volatile block;

int main(void) {
    block = calloc(10, sizeof *block);
    int *gone = block;
    free(block); // RACE
    __asm__ volatile("" : "+r"(gone));
    use(gone[8]); // RACE
}
