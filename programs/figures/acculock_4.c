// acculock.txt Figure 4: xalan's race on ElemDesc.m_attrs. It is filled in lazily
// without a lock, while every thread goes in and out of a locked pool of
// iterators: the pool's lock hides the race in most interleavings.
// expect: race
// shows: sometimes
#include "../threads.h"

enum { WORKERS = 8, ROUNDS = 20, ITERATORS = 4 };

struct elem_desc { int *m_attrs; };

static int attributes[4] = {1, 2, 3, 4};
static struct elem_desc elem;
static int pool = ITERATORS;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

static int take_iterator(void) {
    pthread_mutex_lock(&pool_lock);
    int got = pool > 0 ? pool-- : 0;
    pthread_mutex_unlock(&pool_lock);
    return got;
}

static void return_iterator(int iterator) {
    if (iterator == 0) return;
    pthread_mutex_lock(&pool_lock);
    pool++;
    pthread_mutex_unlock(&pool_lock);
}

static void transform(void) {
    for (int i = 0; i < ROUNDS; i++) {
        int iterator = take_iterator();
        if (elem.m_attrs == NULL)      // RACE
            elem.m_attrs = attributes; // RACE
        return_iterator(iterator);
    }
}

int main(void) {
    thread_body workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) workers[i] = transform;
    start_and_join(workers, WORKERS);
}
