// A handler runs in one thread and touches what another thread is using.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"
#include <signal.h>

static int events;

static void handler(int number) {
    (void)number;
    events++; // RACE
}

static void receiver(void) {
    raise(SIGUSR1);
    invisible_step();
}

static void watcher(void) {
    invisible_await(1);
    events = 0; // RACE
}

int main(void) {
    signal(SIGUSR1, handler);
    together(receiver, watcher);
    return events;
}
