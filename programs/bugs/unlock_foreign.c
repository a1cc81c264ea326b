// A mutex is unlocked by a thread that does not hold it.
// expect: unlock-unlocked
// shows: always
#include "../threads.h"
#include "../invisible.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void owner(void) {
    pthread_mutex_lock(&lock);
    invisible_step();
    invisible_await(2);
}

static void stranger(void) {
    invisible_await(1);
    pthread_mutex_unlock(&lock); // HERE
    invisible_step();
}

int main(void) { together(owner, stranger); }
