// A mutex is locked again by the thread that holds it. An error-checking mutex
// answers EDEADLK; a normal one would hang.
// expect: double-lock
// shows: always
// tsan: misses (the second lock fails, and it looks only at those that succeed)
#include "../threads.h"
#include <errno.h>

static pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

int main(void) {
    pthread_mutex_lock(&lock);
    int answer = pthread_mutex_lock(&lock); // HERE
    pthread_mutex_unlock(&lock);
    return answer != EDEADLK;
}
