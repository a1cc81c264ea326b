// Read-write locks with a time limit by a clock of one's choice.
// tsan: false-alarm (it does not intercept them)
#include "../threads.h"
#include <assert.h>
#include <time.h>

static int data;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void worker(void) {
    struct timespec limit;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += 60;
    for (int i = 0; i < 50; i++) {
        if (pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &limit) != 0) abort();
        data++;
        pthread_rwlock_unlock(&lock);
        if (pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &limit) != 0) abort();
        use(data);
        pthread_rwlock_unlock(&lock);
    }
}

int main(void) {
    together(worker, worker);
    assert(data == 100);
}
