// Five hundred threads alive at the same time.
#include "../threads.h"

enum { N = 500 };

static long counter, slots[N];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void *worker(void *arg) {
    pthread_barrier_wait(&barrier); // all are alive now
    *(long *)arg = 1;
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    static pthread_t threads[N];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 * 1024);
    pthread_barrier_init(&barrier, NULL, N);
    for (int i = 0; i < N; i++)
        if (pthread_create(&threads[i], &small, worker, &slots[i]) != 0) abort();
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
        if (slots[i] != 1) return 1;
    }
    return counter != N;
}
