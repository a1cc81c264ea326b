// Detached threads tell by a counter and a condition variable that they are done.
#include "../threads.h"

static long results[4];
static int running = 4;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

static void *worker(void *arg) {
    *(long *)arg = 42;
    pthread_mutex_lock(&lock);
    running--;
    pthread_cond_signal(&ended);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &detached, worker, &results[i]) != 0) abort();
    }
    pthread_mutex_lock(&lock);
    while (running > 0) pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 4; i++)
        if (results[i] != 42) return 1;
}
