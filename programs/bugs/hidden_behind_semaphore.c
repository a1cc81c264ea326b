// A pool of two tokens hands an accidental order from one thread to the other.
// expect: race
// shows: sometimes
#include "../threads.h"
#include <semaphore.h>

static int data;
static sem_t tokens;

static void first(void) {
    data = 1; // RACE
    sem_wait(&tokens);
    sem_post(&tokens);
}

static void second(void) {
    usleep(30000);
    sem_wait(&tokens);
    sem_post(&tokens);
    data = 2; // RACE
}

int main(void) {
    sem_init(&tokens, 0, 2);
    together(first, second);
    sem_destroy(&tokens);
    return data == 0;
}
