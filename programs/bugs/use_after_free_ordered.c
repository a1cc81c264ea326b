// One thread frees the block, another writes to it afterwards. A lock orders the
// two, so it is no race; but nobody may touch a block that is gone.
// expect: heap-use-after-free
// shows: always
#include "../threads.h"
#include "../invisible.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *block;

static void owner(void) {
    pthread_mutex_lock(&lock);
    free(block); // RACE
    pthread_mutex_unlock(&lock);
    invisible_step();
}

static void writer(void) {
    invisible_await(1);
    pthread_mutex_lock(&lock);
    block[8] = 1; // RACE
    pthread_mutex_unlock(&lock);
}

int main(void) {
    block = calloc(10, sizeof *block);
    together(owner, writer);
}
