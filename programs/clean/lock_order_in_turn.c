// Two locks in opposite orders, but one thread has ended before the other starts.
// tsan: false-alarm (it does not ask whether the two can run at the same time)
#include "../threads.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void there(void) { both(&a, &b); }
static void back(void) { both(&b, &a); }

int main(void) {
    together(there);
    together(back);
}
