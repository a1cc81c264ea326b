// An unnamed semaphore hands items over, another hands the empty slot back.
#include "../threads.h"
#include <assert.h>
#include <semaphore.h>

static int slot, sum;
static sem_t empty, full;

static void producer(void) {
    for (int i = 1; i <= 100; i++) {
        sem_wait(&empty);
        slot = i;
        sem_post(&full);
    }
}

static void consumer(void) {
    for (int i = 1; i <= 100; i++) {
        sem_wait(&full);
        sum += slot;
        sem_post(&empty);
    }
}

int main(void) {
    sem_init(&empty, 0, 1);
    sem_init(&full, 0, 0);
    together(producer, consumer);
    assert(sum == 5050);
    sem_destroy(&empty);
    sem_destroy(&full);
}
