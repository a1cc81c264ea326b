// A thread that holds a read-write lock for writing asks for it for reading; glibc
// answers EDEADLK.
// expect: read-lock-misuse
// shows: always
// tsan: misses (the second lock fails, and it looks only at those that succeed)
#include "../threads.h"
#include <errno.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

int main(void) {
    pthread_rwlock_wrlock(&lock);
    int answer = pthread_rwlock_rdlock(&lock); // HERE
    pthread_rwlock_unlock(&lock);
    return answer != EDEADLK;
}
