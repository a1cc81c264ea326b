// Two threads take two locks in opposite orders: a deadlock, had they met.
// expect: lock-order-inversion
// shows: always
// harm: hang
#include "../threads.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;

static void first(void) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b); // HERE
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
}

static void second(void) {
    usleep(50000);
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a); // HERE
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
}

int main(void) { together(first, second); }
