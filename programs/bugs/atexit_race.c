// An atexit handler runs while a thread that nobody waits for still works.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static long progress;

static void *worker(void *arg) {
    progress = 1; // RACE
    invisible_step();
    return arg;
}

static void summary(void) { use(progress); } // RACE

int main(void) {
    pthread_t thread;
    atexit(summary);
    pthread_create(&thread, NULL, worker, NULL);
    pthread_detach(thread);
    invisible_await(1);
}
