// timedlock: sometimes it gets the mutex, sometimes it gives up; only who has it
// touches the data.
#include "../threads.h"
#include <assert.h>
#include <time.h>

static int counter, refusals;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t refusals_lock = PTHREAD_MUTEX_INITIALIZER;

static struct timespec soon(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += 1000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_nsec -= 1000000000;
        time.tv_sec++;
    }
    return time;
}

static void count(void) {
    for (int i = 0; i < 50; i++) {
        struct timespec limit = soon();
        if (pthread_mutex_timedlock(&lock, &limit) == 0) {
            counter++;
            usleep(300);
            pthread_mutex_unlock(&lock);
        } else {
            pthread_mutex_lock(&refusals_lock);
            refusals++;
            pthread_mutex_unlock(&refusals_lock);
        }
    }
}

int main(void) {
    together(count, count, count);
    assert(counter + refusals == 150);
}
