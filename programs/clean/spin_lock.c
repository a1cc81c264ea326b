// pthread spin locks, with lock and trylock.
#include "../threads.h"
#include <assert.h>
#include <sched.h>

static int counter;
static pthread_spinlock_t lock;

static void by_lock(void) {
    for (int i = 0; i < 200; i++) {
        pthread_spin_lock(&lock);
        counter++;
        pthread_spin_unlock(&lock);
    }
}

static void by_trylock(void) {
    for (int i = 0; i < 200; i++) {
        while (pthread_spin_trylock(&lock) != 0) sched_yield();
        counter++;
        pthread_spin_unlock(&lock);
    }
}

int main(void) {
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    together(by_lock, by_trylock);
    assert(counter == 400);
    pthread_spin_destroy(&lock);
}
