// The thread that the barrier names destroys it while the others may still be on
// their way out: destroying waits for them.
// tsan: false-alarm (the way out of a barrier counts as a use of it)
#include "../threads.h"

static pthread_barrier_t barrier;

static void meet(void) {
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        pthread_barrier_destroy(&barrier);
}

int main(void) {
    pthread_barrier_init(&barrier, NULL, 3);
    together(meet, meet, meet);
}
