// Readers and writers of a table under a read-write lock.
#include "../threads.h"
#include <assert.h>

static int left, right;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void writer(void) {
    for (int i = 0; i < 200; i++) {
        pthread_rwlock_wrlock(&lock);
        left++;
        right++;
        pthread_rwlock_unlock(&lock);
    }
}

static void reader(void) {
    for (int i = 0; i < 200; i++) {
        pthread_rwlock_rdlock(&lock);
        if (left != right) abort();
        pthread_rwlock_unlock(&lock);
    }
}

int main(void) {
    together(writer, reader, reader, writer);
    assert(left == 400);
}
