// An error-checking mutex is asked who holds it: it answers by EDEADLK and EPERM, and
// nothing else happens.
#include "../threads.h"
#include <assert.h>
#include <errno.h>

static pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static int counter;

static int is_held_here(void) {
    int answer = pthread_mutex_lock(&lock);
    if (answer == 0)
        pthread_mutex_unlock(&lock);
    return answer == EDEADLK;
}

static void count(void) {
    for (int i = 0; i < 100; i++) {
        assert(!is_held_here());
        assert(pthread_mutex_unlock(&lock) == EPERM);
        pthread_mutex_lock(&lock);
        assert(is_held_here());
        counter++;
        pthread_mutex_unlock(&lock);
    }
}

int main(void) {
    together(count, count);
    assert(counter == 200);
}
