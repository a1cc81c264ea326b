// A handler changes errno, which the interrupted code may be about to read.
// expect: errno-in-handler
// shows: always
#include "../threads.h"
#include <errno.h>
#include <signal.h>

static void *child(void *arg) {
    for (int i = 0; i < 200; i++) usleep(500);
    return arg;
}

static void handler(int number) { // HERE
    (void)number;
    errno = ENOENT;
}

int main(void) {
    pthread_t thread;
    signal(SIGUSR1, handler);
    pthread_create(&thread, NULL, child, NULL);
    usleep(20000);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
}
