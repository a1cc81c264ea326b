// The race is in the child of a fork; the parent only waits.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"
#include <sys/wait.h>

static int shared;

static void first(void) {
    shared = 1; // RACE
    invisible_step();
}

static void second(void) {
    invisible_await(1);
    shared = 2; // RACE
}

int main(void) {
    pid_t child = fork();
    if (child == 0) {
        together(first, second);
        exit(shared == 0);
    }
    int status;
    waitpid(child, &status, 0);
    return !WIFEXITED(status);
}
