// A semaphore that starts at two is no mutex.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"
#include <semaphore.h>

static int shared;
static sem_t slots;

static void first(void) {
    sem_wait(&slots);
    shared = 1; // RACE
    invisible_step();
    invisible_await(2);
    sem_post(&slots);
}

static void second(void) {
    invisible_await(1);
    sem_wait(&slots);
    shared = 2; // RACE
    invisible_step();
    sem_post(&slots);
}

int main(void) {
    sem_init(&slots, 0, 2);
    together(first, second);
    sem_destroy(&slots);
    return shared == 0;
}
