// OpenMP: results of a single thread handed to all, beside a thread that is in no team.
// flags: -fopenmp
// tsan: false-alarm (libgomp synchronises where it does not see it)
#include "../threads.h"
#include <assert.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long visits, sum;

static void visit(void) {
    pthread_mutex_lock(&lock);
    visits++;
    pthread_mutex_unlock(&lock);
}

static void *outsider(void *arg) {
    for (int i = 0; i < 20; i++) visit();
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, outsider, NULL);
    for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(3)
        {
            int share;
#pragma omp single copyprivate(share)
            share = 5;
            visit();
#pragma omp barrier
#pragma omp atomic
            sum += share;
        }
    }
    pthread_join(thread, NULL);
    assert(visits == 20 + 9 && sum == 45);
}
