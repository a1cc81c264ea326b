// A lost wake-up: producers and consumers wait for one condition of a buffer with
// one place, and a notification meant for a consumer can wake a producer.
// expect: deadlock
#include "../threads.h"

enum { ITEMS = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int full;

static void produce(void) {
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (full) pthread_cond_wait(&changed, &lock); // HERE
        full = 1;
        pthread_cond_signal(&changed); // should be a broadcast
        pthread_mutex_unlock(&lock);
    }
}

static void consume(void) {
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (!full) pthread_cond_wait(&changed, &lock); // HERE
        full = 0;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
}

int main(void) { together(produce, consume, produce, consume); }
