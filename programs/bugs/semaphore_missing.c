// The producer posts after each item; the consumer waits once and takes two.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"
#include <semaphore.h>

static long items[2];
static sem_t filled;

static void producer(void) {
    items[0] = 10;
    sem_post(&filled);
    items[1] = 11; // RACE
    invisible_step();
}

static void consumer(void) {
    sem_wait(&filled);
    use(items[0]);
    invisible_await(1);
    use(items[1]); // RACE
}

int main(void) {
    sem_init(&filled, 0, 0);
    together(producer, consumer);
    sem_destroy(&filled);
}
