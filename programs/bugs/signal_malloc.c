// malloc in a signal handler: had the signal come inside malloc, its lock would
// be held already.
// expect: signal-unsafe
// shows: always
#include "../threads.h"
#include <signal.h>

static void handler(int number) {
    (void)number;
    char *volatile block = malloc(1); // HERE
    free(block);                      // HERE
}

int main(void) {
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
}
