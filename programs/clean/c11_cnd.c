// C11 threads: a condition variable with signal, broadcast and a timed wait.
// tsan: crashes (it does not intercept thrd_create)
#include <assert.h>
#include <stddef.h>
#include <threads.h>
#include <time.h>

static int ready, data;
static mtx_t lock;
static cnd_t changed;

static int waiter(void *arg) {
    mtx_lock(&lock);
    while (!ready) cnd_wait(&changed, &lock);
    mtx_unlock(&lock);
    return data - 42 + (arg != NULL);
}

int main(void) {
    thrd_t threads[3];
    mtx_init(&lock, mtx_timed);
    cnd_init(&changed);
    for (int i = 0; i < 3; i++) thrd_create(&threads[i], waiter, NULL);

    struct timespec limit;
    timespec_get(&limit, TIME_UTC);
    mtx_lock(&lock);
    int answer = cnd_timedwait(&changed, &lock, &limit);
    assert(answer == thrd_timedout || answer == thrd_success);
    data = 42;
    ready = 1;
    cnd_signal(&changed);
    cnd_broadcast(&changed);
    mtx_unlock(&lock);

    for (int i = 0; i < 3; i++) {
        int result;
        thrd_join(threads[i], &result);
        assert(result == 0);
    }
    cnd_destroy(&changed);
    mtx_destroy(&lock);
}
