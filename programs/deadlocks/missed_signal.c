// A missed signal: nobody looks whether the condition is fulfilled before waiting for
// it, so a notification that came first is missed.
// expect: deadlock
#include "../threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;

static void waiter(void) {
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&ready, &lock); // HERE
    pthread_mutex_unlock(&lock);
}

static void notifier(void) {
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&lock);
}

int main(void) { together(waiter, notifier); }
