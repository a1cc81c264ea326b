// The recursive mutex was locked once and unlocked twice by a helper that thinks
// it owns it: the last write is not protected.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static int shared;
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void helper(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&lock); // one too many: the caller's
}

static void careless(void) {
    pthread_mutex_lock(&lock);
    helper();
    shared = 1; // RACE
    invisible_step();
}

static void careful(void) {
    invisible_await(1);
    pthread_mutex_lock(&lock);
    shared = 2; // RACE
    pthread_mutex_unlock(&lock);
}

int main(void) {
    together(careless, careful);
    return shared == 0;
}
