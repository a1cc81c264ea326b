// pthread_tryjoin_np until it succeeds, pthread_timedjoin_np and clockjoin with
// patience: each orders the end of the thread before what follows.
// tsan: false-alarm (it does not intercept pthread_clockjoin_np)
#include "../threads.h"
#include <assert.h>
#include <time.h>

static long results[3];

static void *worker(void *arg) {
    usleep(2000);
    *(long *)arg = 42;
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, worker, &results[i]);

    while (pthread_tryjoin_np(threads[0], NULL) != 0) usleep(500);
    assert(results[0] == 42);

    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 60;
    if (pthread_timedjoin_np(threads[1], NULL, &limit) != 0) abort();
    assert(results[1] == 42);

    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += 60;
    if (pthread_clockjoin_np(threads[2], NULL, CLOCK_MONOTONIC, &limit) != 0) abort();
    assert(results[2] == 42);
}
