// The condition variable is signalled after the lock was given back: by then the
// waiter may have seen what it waited for, and have destroyed it.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int done;

static void signaller(void) {
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&changed); // RACE
    invisible_step();
}

static void waiter(void) {
    invisible_await(1);
    pthread_mutex_lock(&lock);
    while (!done) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&changed); // RACE
}

int main(void) { together(signaller, waiter); }
