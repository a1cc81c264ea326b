// Signals come to threads that have only just been made: the handler may touch
// what was written before their creation.
#include "../threads.h"
#include <signal.h>

static int made_before;
static volatile sig_atomic_t sum;

static void handler(int signal) {
    (void)signal;
    sum += made_before;
}

static void *idle(void *argument) { return argument; }

int main(void) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        made_before = i;
        if (pthread_create(&thread, NULL, idle, NULL) != 0) return 1;
        pthread_kill(thread, SIGUSR1);
        pthread_join(thread, NULL);
    }
}
