// A gate for five threads, opened by a broadcast.
#include "../threads.h"

static int open, gift;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;

static void waiter(void) {
    pthread_mutex_lock(&lock);
    while (!open) pthread_cond_wait(&opened, &lock);
    pthread_mutex_unlock(&lock);
    if (gift != 42) abort(); // was written before the gate opened
}

static void opener(void) {
    usleep(10000);
    gift = 42;
    pthread_mutex_lock(&lock);
    open = 1;
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&lock);
}

int main(void) { together(waiter, waiter, waiter, waiter, waiter, opener); }
