// The other ways into a read-write lock: try, and with a time limit.
#include "../threads.h"
#include <assert.h>
#include <sched.h>
#include <time.h>

static int data;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void try_both(void) {
    for (int i = 0; i < 50; i++) {
        while (pthread_rwlock_trywrlock(&lock) != 0) sched_yield();
        data++;
        pthread_rwlock_unlock(&lock);
        while (pthread_rwlock_tryrdlock(&lock) != 0) sched_yield();
        use(data);
        pthread_rwlock_unlock(&lock);
    }
}

static void timed_both(void) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 60;
    for (int i = 0; i < 50; i++) {
        if (pthread_rwlock_timedwrlock(&lock, &limit) != 0) abort();
        data++;
        pthread_rwlock_unlock(&lock);
        if (pthread_rwlock_timedrdlock(&lock, &limit) != 0) abort();
        use(data);
        pthread_rwlock_unlock(&lock);
    }
}

int main(void) {
    together(try_both, timed_both);
    assert(data == 100);
}
