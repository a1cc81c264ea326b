// The racing access is on a branch that is taken only if the second thread comes
// first: to see the race, the locks must be taken the other way round.
// expect: race
// shows: sometimes
#include "../threads.h"

static long cache, initialised;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void initialiser(void) {
    pthread_mutex_lock(&lock);
    initialised = 1;
    pthread_mutex_unlock(&lock);
    cache = 1; // RACE
}

static void user(void) {
    usleep(30000);
    pthread_mutex_lock(&lock);
    long ready = initialised;
    pthread_mutex_unlock(&lock);
    if (!ready) cache = 2; // RACE
}

int main(void) {
    together(initialiser, user);
    return cache == 0;
}
