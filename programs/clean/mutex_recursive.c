// A recursive mutex, taken three deep; the innermost unlock must not publish.
#include "../threads.h"
#include <assert.h>

static int counter;
static pthread_mutex_t lock;

static void add(int depth) {
    pthread_mutex_lock(&lock);
    if (depth > 0) add(depth - 1);
    counter++;
    pthread_mutex_unlock(&lock);
}

static void count(void) {
    for (int i = 0; i < 200; i++) add(2);
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    together(count, count);
    assert(counter == 1200);
    pthread_mutex_destroy(&lock);
}
