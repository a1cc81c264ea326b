// The unlock of the first thread and the lock of the second happen to order the
// unprotected accesses: a free run is silent unless the second is faster.
// expect: race
// shows: sometimes
#include "../threads.h"

static int data;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void first(void) {
    data = 1; // RACE
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void second(void) {
    usleep(30000);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    data = 2; // RACE
}

int main(void) {
    together(first, second);
    return data == 0;
}
