// Two threads lock, but not the same mutex.
// expect: race
// shows: always
#include "../threads.h"

static int shared;
static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t yours = PTHREAD_MUTEX_INITIALIZER;

static void first(void) {
    pthread_mutex_lock(&mine);
    shared++; // RACE
    pthread_mutex_unlock(&mine);
}

static void second(void) {
    pthread_mutex_lock(&yours);
    shared++; // RACE
    pthread_mutex_unlock(&yours);
}

int main(void) {
    together(first, second);
    return shared == 0;
}
