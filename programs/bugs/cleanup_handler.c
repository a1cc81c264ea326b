// A cleanup handler of a cancelled thread runs without the lock.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static long open_files = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void cleanup(void *arg) {
    (void)arg;
    open_files--; // RACE
    invisible_step();
}

static void *worker(void *arg) {
    pthread_cleanup_push(cleanup, NULL);
    for (;;) usleep(1000);
    pthread_cleanup_pop(0);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_cancel(thread);
    invisible_await(1);
    pthread_mutex_lock(&lock);
    use(open_files); // RACE
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}
