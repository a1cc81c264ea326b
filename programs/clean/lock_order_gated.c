// Two locks in opposite orders, but always under a third: no deadlock is possible.
// tsan: false-alarm (it does not look at the locks held around)
#include "../threads.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
    pthread_mutex_unlock(&gate);
}

static void there(void) { both(&a, &b); }
static void back(void) { both(&b, &a); }

int main(void) { together(there, back); }
