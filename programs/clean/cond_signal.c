// A bounded buffer: one mutex, two condition variables.
#include "../threads.h"
#include <assert.h>

enum { SIZE = 4, ITEMS = 200 };

static int buffer[SIZE], filled, sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;

static void producer(void) {
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (filled == SIZE) pthread_cond_wait(&not_full, &lock);
        buffer[filled++] = i;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&lock);
    }
}

static void consumer(void) {
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (filled == 0) pthread_cond_wait(&not_empty, &lock);
        sum += buffer[--filled];
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&lock);
    }
}

int main(void) {
    together(producer, consumer, producer, consumer);
    assert(sum == ITEMS * (ITEMS - 1));
}
