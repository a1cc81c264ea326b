// The waiter is told about the data through a condition variable, but the data
// are finished only after the signal.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static int ready, data;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void waiter(void) {
    pthread_mutex_lock(&lock);
    while (!ready) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    invisible_await(1);
    use(data); // RACE
}

static void signaller(void) {
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    data = 42; // RACE
    invisible_step();
}

int main(void) { together(waiter, signaller); }
