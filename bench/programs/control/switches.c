// Two threads take turns, as often as the argument says.
#include "../../../programs/threads.h"
#include <semaphore.h>

static long rounds;
static sem_t ping, pong;

static void first(void) {
    for (long i = 0; i < rounds; i++) {
        sem_post(&ping);
        sem_wait(&pong);
    }
}

static void second(void) {
    for (long i = 0; i < rounds; i++) {
        sem_wait(&ping);
        sem_post(&pong);
    }
}

int main(int count, char **arguments) {
    rounds = count > 1 ? atol(arguments[1]) : 1;
    sem_init(&ping, 0, 0);
    sem_init(&pong, 0, 0);
    together(first, second);
}
