// A read-write lock is unlocked by a thread that does not hold it, while the
// holder is writing.
// expect: unlock-unlocked
// shows: always
#include "../threads.h"
#include "../invisible.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void owner(void) {
    pthread_rwlock_wrlock(&lock);
    invisible_step();
    invisible_await(2);
}

static void stranger(void) {
    invisible_await(1);
    pthread_rwlock_unlock(&lock); // HERE
    invisible_step();
}

int main(void) { together(owner, stranger); }
