// pthread_mutex_clocklock: a time limit by a clock of one's choice.
// tsan: false-alarm (gcc 12's does not intercept it, clang's does)
#include "../threads.h"
#include <assert.h>
#include <time.h>

static int counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void count(void) {
    struct timespec limit;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += 60;
    for (int i = 0; i < 100; i++) {
        if (pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &limit) != 0) abort();
        counter++;
        pthread_mutex_unlock(&lock);
    }
}

int main(void) {
    together(count, count);
    assert(counter == 200);
}
