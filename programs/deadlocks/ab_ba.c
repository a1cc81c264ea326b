// Two locks, taken in opposite orders.
// expect: deadlock
#include "../threads.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void ab(void) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b); // HERE
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
}

static void ba(void) {
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a); // HERE
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
}

int main(void) { together(ab, ba); }
