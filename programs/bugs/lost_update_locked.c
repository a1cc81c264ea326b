// counter is read in one critical section and written in another.
// expect: atomicity
// shows: never
#include "../threads.h"
#include <stdio.h>

static int counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void increment(void) {
    pthread_mutex_lock(&lock);
    int value = counter; // HERE
    pthread_mutex_unlock(&lock);

    pthread_mutex_lock(&lock);
    counter = value + 1; // HERE
    pthread_mutex_unlock(&lock);
}

int main(void) {
    together(increment, increment);
    printf("%d of 2\n", counter);
    return counter != 2;
}
