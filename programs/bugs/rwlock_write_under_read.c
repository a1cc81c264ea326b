// Both threads hold the lock, but only for reading, and write.
// expect: race
// shows: always
#include "../threads.h"

static int hits;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void lookup(void) {
    pthread_rwlock_rdlock(&lock);
    hits++; // RACE
    pthread_rwlock_unlock(&lock);
}

int main(void) {
    together(lookup, lookup);
    return hits == 0;
}
