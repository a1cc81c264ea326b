// One thread asks again and again, under a lock and with a yield, whether another one is
// done. It is not for a scheduler to keep the other one from it.
#include "../threads.h"
#include <sched.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void work(void) {
    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&other);
        pthread_mutex_unlock(&other);
    }
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_mutex_unlock(&lock);
}

static void poll_for_it(void) {
    for (int seen = 0; !seen; sched_yield()) {
        pthread_mutex_lock(&lock);
        seen = done;
        pthread_mutex_unlock(&lock);
    }
}

int main(void) { together(poll_for_it, work); }
