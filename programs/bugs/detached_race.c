// A detached thread is never joined: nothing orders what it did before what main
// does, however long main sleeps.
// expect: race
// shows: always
#include "../threads.h"

static int result;

static void *worker(void *arg) {
    result = 42; // RACE
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_detach(thread);
    usleep(100000);
    use(result); // RACE
}
