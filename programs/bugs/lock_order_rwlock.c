// A mutex and a read-write lock in opposite orders. The lock is held for reading
// on one side only; that is enough.
// expect: lock-order-inversion
// shows: always
// harm: hang
#include "../threads.h"

static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;

static void reader(void) {
    pthread_rwlock_rdlock(&table_lock);
    pthread_mutex_lock(&index_lock); // HERE
    pthread_mutex_unlock(&index_lock);
    pthread_rwlock_unlock(&table_lock);
}

static void writer(void) {
    usleep(50000);
    pthread_mutex_lock(&index_lock);
    pthread_rwlock_wrlock(&table_lock); // HERE
    pthread_rwlock_unlock(&table_lock);
    pthread_mutex_unlock(&index_lock);
}

int main(void) { together(reader, writer); }
