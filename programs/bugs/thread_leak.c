// A thread has ended, but nobody joined or detached it.
// expect: thread-leak
// shows: always
#include "../threads.h"

static void *child(void *arg) { return arg; }

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, child, NULL); // HERE
    usleep(50000);
}
