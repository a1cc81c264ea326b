// The result of trylock is not looked at: the second thread goes in without it.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void patient(void) {
    pthread_mutex_lock(&lock);
    shared = 1; // RACE
    invisible_step();
    invisible_await(2);
    pthread_mutex_unlock(&lock);
}

static void hasty(void) {
    invisible_await(1);
    (void)pthread_mutex_trylock(&lock);
    shared = 2; // RACE
    invisible_step();
}

int main(void) {
    together(patient, hasty);
    return shared == 0;
}
