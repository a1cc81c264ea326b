// timedwait and clockwait: the mutex is held again after a time-out, too.
#include "../threads.h"
#include <assert.h>
#include <errno.h>
#include <time.h>

static int wakeups;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static struct timespec soon(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += 2000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_nsec -= 1000000000;
        time.tv_sec++;
    }
    return time;
}

static void timed(void) {
    for (int i = 0; i < 20; i++) {
        struct timespec limit = soon(CLOCK_REALTIME);
        pthread_mutex_lock(&lock);
        while (pthread_cond_timedwait(&never, &lock, &limit) != ETIMEDOUT) {}
        wakeups++;
        pthread_mutex_unlock(&lock);
    }
}

static void clocked(void) {
    for (int i = 0; i < 20; i++) {
        struct timespec limit = soon(CLOCK_MONOTONIC);
        pthread_mutex_lock(&lock);
        while (pthread_cond_clockwait(&never, &lock, CLOCK_MONOTONIC, &limit) != ETIMEDOUT) {}
        wakeups++;
        pthread_mutex_unlock(&lock);
    }
}

int main(void) {
    together(timed, clocked);
    assert(wakeups == 40);
}
