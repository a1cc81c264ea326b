// sem_trywait and sem_timedwait order only when they succeed.
#include "../threads.h"
#include <assert.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

static int counter;
static sem_t lock;

static void by_try(void) {
    for (int i = 0; i < 100; i++) {
        while (sem_trywait(&lock) != 0) sched_yield();
        counter++;
        sem_post(&lock);
    }
}

static void by_time(void) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 60;
    for (int i = 0; i < 100; i++) {
        if (sem_timedwait(&lock, &limit) != 0) abort();
        counter++;
        sem_post(&lock);
    }
}

int main(void) {
    sem_init(&lock, 0, 1);
    together(by_try, by_time);
    assert(counter == 200);
    sem_destroy(&lock);
}
