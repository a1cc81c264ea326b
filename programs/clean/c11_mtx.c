// C11 threads: mtx of every type, lock, trylock and timedlock.
// tsan: crashes (it does not intercept thrd_create)
#include <assert.h>
#include <threads.h>
#include <time.h>

static int counter;
static mtx_t plain, recursive, timed;

static int count(void *arg) {
    struct timespec limit;
    timespec_get(&limit, TIME_UTC);
    limit.tv_sec += 60;
    for (int i = 0; i < 50; i++) {
        mtx_lock(&plain);
        counter++;
        mtx_unlock(&plain);
        while (mtx_trylock(&plain) != thrd_success) thrd_yield();
        counter++;
        mtx_unlock(&plain);
    }
    for (int i = 0; i < 50; i++) {
        mtx_lock(&recursive);
        mtx_lock(&recursive);
        ((int *)arg)[0]++;
        mtx_unlock(&recursive);
        mtx_unlock(&recursive);
        if (mtx_timedlock(&timed, &limit) != thrd_success) return 1;
        ((int *)arg)[1]++;
        mtx_unlock(&timed);
    }
    return 0;
}

int main(void) {
    thrd_t threads[2];
    int others[2] = {0, 0};
    mtx_init(&plain, mtx_plain);
    mtx_init(&recursive, mtx_plain | mtx_recursive);
    mtx_init(&timed, mtx_timed);
    for (int i = 0; i < 2; i++) thrd_create(&threads[i], count, others);
    for (int i = 0; i < 2; i++) {
        int result;
        thrd_join(threads[i], &result);
        assert(result == 0);
    }
    assert(counter == 200 && others[0] == 100 && others[1] == 100);
    mtx_destroy(&plain);
    mtx_destroy(&recursive);
    mtx_destroy(&timed);
}
