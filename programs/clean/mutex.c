// A counter under a normal mutex.
#include "../threads.h"
#include <assert.h>

static int counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void count(void) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        counter++;
        pthread_mutex_unlock(&lock);
    }
}

int main(void) {
    together(count, count, count);
    assert(counter == 3000);
}
