// trylock until it succeeds.
#include "../threads.h"
#include <assert.h>
#include <sched.h>

static int counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void count(void) {
    for (int i = 0; i < 300; i++) {
        while (pthread_mutex_trylock(&lock) != 0) sched_yield();
        counter++;
        pthread_mutex_unlock(&lock);
    }
}

int main(void) {
    together(count, count);
    assert(counter == 600);
}
