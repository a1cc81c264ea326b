// A handler sets a flag of type sig_atomic_t in its own thread, and an atomic one
// that another thread waits for.
#include "../threads.h"
#include <signal.h>
#include <stdatomic.h>

static volatile sig_atomic_t mine;
static atomic_int ready, seen;

static void handler(int number) {
    mine = number;
    atomic_store(&seen, 1);
}

static void *receiver(void *arg) {
    atomic_store(&ready, 1);
    while (!atomic_load(&seen)) usleep(100);
    if (mine != SIGUSR1) abort();
    return arg;
}


int main(void) {
    pthread_t thread;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&thread, NULL, receiver, NULL);
    while (!atomic_load(&ready)) usleep(100);
    pthread_kill(thread, SIGUSR1);
    while (!atomic_load(&seen)) usleep(100);
    pthread_join(thread, NULL);
}
