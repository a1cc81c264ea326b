// A mutex is given its initial value again while another thread holds it: both
// threads are then inside.
// expect: double-lock
// shows: always
#include "../threads.h"
#include "../invisible.h"

static const pthread_mutex_t initial = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void owner(void) {
    pthread_mutex_lock(&lock);
    invisible_step();
    invisible_await(2);
}

UNSEEN static void reset(void) {
    for (size_t i = 0; i < sizeof lock; i++)
        ((volatile char *)&lock)[i] = ((const volatile char *)&initial)[i];
}

static void intruder(void) {
    invisible_await(1);
    reset();
    pthread_mutex_lock(&lock); // HERE
    pthread_mutex_unlock(&lock);
    invisible_step();
}

int main(void) { together(owner, intruder); }
