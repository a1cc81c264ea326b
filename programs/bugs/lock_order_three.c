// Three philosophers, three forks, each takes the left one first.
// expect: lock-order-inversion
// shows: always
// harm: hang
#include "../threads.h"

static pthread_mutex_t forks[3] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static NOINLINE void dine(int seat) {
    usleep(30000 * seat);
    pthread_mutex_lock(&forks[seat]);
    pthread_mutex_lock(&forks[(seat + 1) % 3]); // HERE
    pthread_mutex_unlock(&forks[(seat + 1) % 3]);
    pthread_mutex_unlock(&forks[seat]);
}

static void plato(void) { dine(0); }
static void kant(void) { dine(1); }
static void hume(void) { dine(2); }

int main(void) { together(plato, kant, hume); }
