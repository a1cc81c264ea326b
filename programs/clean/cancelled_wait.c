// A thread is cancelled in pthread_cond_wait: it holds the mutex again when its
// cleanup handler runs.
#include "../threads.h"
#include <assert.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static long waiters;

static void leave(void *arg) {
    (void)arg;
    waiters--;
    pthread_mutex_unlock(&lock);
}

static void *waiter(void *arg) {
    pthread_mutex_lock(&lock);
    waiters++;
    pthread_cleanup_push(leave, NULL);
    for (;;) pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(1);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waiter, NULL);
    for (long seen = 0; seen == 0;) {
        usleep(100);
        pthread_mutex_lock(&lock);
        seen = waiters;
        pthread_mutex_unlock(&lock);
    }
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    assert(waiters == 0);
}
