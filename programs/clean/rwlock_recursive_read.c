// A thread reads twice while writers come and go: the C library's ordinary read-write
// locks let readers in whoever waits, and so do those that say to prefer writers but not
// that nobody reads twice. Where nobody does, a lock may keep readers from writers.
#include "../threads.h"
#include <assert.h>

static pthread_rwlock_t ordinary = PTHREAD_RWLOCK_INITIALIZER, lenient, strict;
static int sums[3];

static void add(pthread_rwlock_t *lock, int *sum) {
    for (int i = 0; i < 20; i++) {
        pthread_rwlock_wrlock(lock);
        ++*sum;
        pthread_rwlock_unlock(lock);
    }
}

static void look(pthread_rwlock_t *lock, int *sum, int times) {
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < times; j++) pthread_rwlock_rdlock(lock);
        use(*sum);
        for (int j = 0; j < times; j++) pthread_rwlock_unlock(lock);
    }
}

// Who only tries to read a second time does not wait for the writer.
static void peek(void) {
    for (int i = 0; i < 20; i++) {
        pthread_rwlock_rdlock(&strict);
        if (pthread_rwlock_tryrdlock(&strict) == 0) pthread_rwlock_unlock(&strict);
        use(sums[2]);
        pthread_rwlock_unlock(&strict);
    }
}

static void writer(void) {
    add(&ordinary, &sums[0]);
    add(&lenient, &sums[1]);
    add(&strict, &sums[2]);
}

static void reader(void) {
    look(&ordinary, &sums[0], 2);
    look(&lenient, &sums[1], 2);
    look(&strict, &sums[2], 1);
    peek();
}

static void make(pthread_rwlock_t *lock, int kind) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, kind);
    pthread_rwlock_init(lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
}

int main(void) {
    make(&lenient, PTHREAD_RWLOCK_PREFER_WRITER_NP);
    make(&strict, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    together(reader, writer, reader, writer);
    assert(sums[0] == 40 && sums[1] == 40 && sums[2] == 40);
}
