// main goes on writing after it has started the thread.
// expect: race
// shows: always
#include "../threads.h"

static int shared;

static void *child(void *arg) {
    shared = 2; // RACE
    return arg;
}

int main(void) {
    pthread_t thread;
    shared = 0; // before the thread exists: fine
    pthread_create(&thread, NULL, child, NULL);
    shared = 1; // RACE
    pthread_join(thread, NULL);
    return shared == 0;
}
