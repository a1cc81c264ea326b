// Manager of Table 1: threads give blocks back to a memory manager, which frees them all
// when too many have come together. Each block is given back under the lock; who empties
// the list has looked at its length without.
// expect: race
// shows: sometimes
// harm: abort
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

#define THREADS 4
#define MOST 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char blocks[THREADS];
static void *returned[THREADS];
static int count, freed;

static void give_back(void *block) {
    pthread_mutex_lock(&lock);
    assert(count < THREADS);
    returned[count] = block;
    count = count + 1; // RACE
    pthread_mutex_unlock(&lock);
}

static void empty_if_full(void) {
    if (count < MOST) return; // RACE
    pthread_mutex_lock(&lock);
    assert(count >= MOST);
    while (count > 0) {
        count = count - 1; // RACE
        freed += returned[count] != 0;
    }
    pthread_mutex_unlock(&lock);
}

static void *work(void *number) {
    usleep(10000 * (int)(long)number);
    give_back(&blocks[(long)number]);
    empty_if_full();
    return 0;
}

int main(void) {
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    while (count > 0) {
        freed += returned[--count] != 0;
    }
    return freed != THREADS;
}
