// A handler that runs before a fork races with a thread, and waits for another
// one that makes accesses of its own meanwhile.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"
#include <sys/wait.h>

static int shared;
static int own;

static void worker(void) {
    shared = 1; // RACE
    invisible_step();
    invisible_await(2);
    for (int i = 0; i < 1000; i++) own++;
    invisible_step();
}

static void handler(void) {
    shared = 2; // RACE
    invisible_step();
    invisible_await(3);
}

static void forker(void) {
    invisible_await(1);
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
}

int main(void) {
    pthread_atfork(handler, NULL, NULL);
    together(worker, forker);
    use(shared);
    use(own);
}
