// BuggyPrg of Table 1: workers draw numbers from a generator and count what they have
// drawn. The generator is locked; whether there is another number is asked before, and
// the count of all is kept without any lock.
// expect: race
// shows: sometimes
// harm: abort
#include <assert.h>
#include <pthread.h>

#define WORKERS 3
#define NUMBERS 6

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next, drawn[NUMBERS], total;

static int has_next(void) {
    pthread_mutex_lock(&lock);
    int has = next < NUMBERS;
    pthread_mutex_unlock(&lock);
    return has;
}

static int draw(void) {
    pthread_mutex_lock(&lock);
    assert(next < NUMBERS);
    int number = next++;
    pthread_mutex_unlock(&lock);
    return number;
}

static void *work(void *unused) {
    for (int i = 0; i < 2; i++) {
        if (!has_next()) break;
        drawn[draw()] = 1;
        total++; // RACE
    }
    return unused;
}

int main(void) {
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) pthread_create(&workers[i], 0, work, 0);
    for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], 0);
    assert(total == NUMBERS);
    for (int i = 0; i < NUMBERS; i++) assert(drawn[i]);
}
