// Workers tell in which order they finish. They need not do so in the order in which they
// began, although they nearly always do: each critical section is one for itself.
#include "../threads.h"
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int begun, finished;

static void work(void) {
    pthread_mutex_lock(&lock);
    int me = ++begun;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    finished++;
    printf("worker %d is number %d to finish\n", me, finished);
    pthread_mutex_unlock(&lock);
}

static void late(void) {
    usleep(2000);
    work();
}

int main(void) { together(work, late); }
