// Thread-local variables and pthread keys: one of each per thread, and destructors
// that run at its end, where join can see their work.
#include "../threads.h"
#include <assert.h>
#include <stdatomic.h>

static _Thread_local long mine;
static pthread_key_t key;
static atomic_int destroyed;
static long *last_block; // written by destructors, read after join

static void destroy(void *block) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    last_block = block;
    pthread_mutex_unlock(&lock);
    free(block);
    atomic_fetch_add(&destroyed, 1);
}

static void worker(void) {
    long *block = malloc(sizeof *block);
    *block = 5;
    pthread_setspecific(key, block);
    for (int i = 0; i < 100; i++) mine++;
    if (mine != 100 || *(long *)pthread_getspecific(key) != 5) abort();
}

int main(void) {
    pthread_key_create(&key, destroy);
    together(worker, worker, worker);
    assert(destroyed == 3 && last_block != NULL && mine == 0);
    pthread_key_delete(key);
}
