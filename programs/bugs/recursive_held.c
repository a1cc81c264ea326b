// A recursive mutex, locked twice and unlocked once, stays held: who tries to get
// it fails, and goes on regardless.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static int shared;
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void greedy(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
    shared = 1; // RACE
    pthread_mutex_unlock(&lock);
    invisible_step();
    invisible_await(2);
    pthread_mutex_unlock(&lock);
}

static void other(void) {
    invisible_await(1);
    if (pthread_mutex_trylock(&lock) == 0) abort();
    shared = 2; // RACE
    invisible_step();
}

int main(void) {
    together(greedy, other);
    return shared == 0;
}
