// An error-checking mutex, used without an error.
#include "../threads.h"
#include <assert.h>

static int counter;
static pthread_mutex_t lock;

static void count(void) {
    for (int i = 0; i < 500; i++) {
        if (pthread_mutex_lock(&lock) != 0) abort();
        counter++;
        if (pthread_mutex_unlock(&lock) != 0) abort();
    }
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&lock, &attributes);
    together(count, count);
    assert(counter == 1000);
    pthread_mutex_destroy(&lock);
}
