// The flag that ends a worker is atomic and set without the lock: between the look at it
// and the wait, flag and notice both go unnoticed.
// expect: deadlock
#include "../threads.h"
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int jobs;
static atomic_int stop;

static void work(void) {
    pthread_mutex_lock(&lock);
    for (;;) {
        while (jobs == 0 && !atomic_load(&stop)) pthread_cond_wait(&changed, &lock); // HERE
        if (jobs == 0) break;
        jobs--;
    }
    pthread_mutex_unlock(&lock);
}

static void manage(void) {
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        jobs++;
        pthread_mutex_unlock(&lock);
        pthread_cond_signal(&changed);
    }
    atomic_store(&stop, 1);
    pthread_cond_signal(&changed);
}

int main(void) { together(work, manage); }
