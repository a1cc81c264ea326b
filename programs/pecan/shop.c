// Shop of Table 1: customers look whether there is something on the shelf and take it.
// Looking and taking are each locked, and meant to be one: the second customer may find
// the shelf empty that it has seen full. The supplier counts what it has brought without
// a lock.
// expect: race
// shows: sometimes
// harm: abort
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shelf = 1, brought;

static int is_empty(void) {
    pthread_mutex_lock(&lock);
    int empty = shelf == 0;
    pthread_mutex_unlock(&lock);
    return empty;
}

static void take(void) {
    pthread_mutex_lock(&lock);
    assert(shelf > 0);
    shelf--;
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static int buy(void) {
    if (is_empty()) return 0;
    take();
    return 1;
}

static void *supply(void *unused) {
    pthread_mutex_lock(&lock);
    shelf++;
    pthread_mutex_unlock(&lock);
    brought++; // RACE
    return unused;
}

static void *customer(void *number) {
    usleep(20000 * (int)(long)number);
    int seen = brought; // RACE
    buy();
    return seen < 0 ? number : 0;
}

int main(void) {
    pthread_t supplier, customers[2];
    pthread_create(&supplier, 0, supply, 0);
    for (long i = 0; i < 2; i++) pthread_create(&customers[i], 0, customer, (void *)(i + 1));
    pthread_join(supplier, 0);
    for (int i = 0; i < 2; i++) pthread_join(customers[i], 0);
    return shelf < 0;
}
