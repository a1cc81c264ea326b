// A normal mutex is locked again by the thread that holds it, with a time limit:
// a deadlock with itself that ends after 50 ms.
// expect: double-lock
// shows: always
// tsan: misses (the second lock fails, and it looks only at those that succeed)
#include "../threads.h"
#include <errno.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(void) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_nsec += 50000000;
    if (deadline.tv_nsec >= 1000000000) {
        deadline.tv_sec++;
        deadline.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&lock);
    int answer = pthread_mutex_timedlock(&lock, &deadline); // HERE
    pthread_mutex_unlock(&lock);
    return answer != ETIMEDOUT;
}
