// The flag of a condition variable is set without the mutex: a race, and the
// signal can come before the wait and be lost.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static int ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void waiter(void) {
    invisible_await(1);
    pthread_mutex_lock(&lock);
    while (!ready) // RACE
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void signaller(void) {
    ready = 1; // RACE
    pthread_cond_signal(&changed);
    invisible_step();
}

int main(void) { together(waiter, signaller); }
