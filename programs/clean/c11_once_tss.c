// C11 threads: call_once, thread-specific storage with a destructor, thrd_exit.
// tsan: crashes (it does not intercept thrd_create)
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <threads.h>

static once_flag once = ONCE_FLAG_INIT;
static tss_t key;
static int table;
static atomic_int destroyed;

static void build(void) { table = 42; }

static void destroy(void *value) {
    free(value);
    atomic_fetch_add(&destroyed, 1);
}

static int worker(void *arg) {
    call_once(&once, build);
    int *mine = malloc(sizeof *mine);
    *mine = table;
    tss_set(key, mine);
    thrd_exit(*(int *)tss_get(key) + (arg != NULL));
}

int main(void) {
    thrd_t threads[3];
    tss_create(&key, destroy);
    for (int i = 0; i < 3; i++) thrd_create(&threads[i], worker, NULL);
    for (int i = 0; i < 3; i++) {
        int result;
        thrd_join(threads[i], &result);
        assert(result == 42);
    }
    assert(destroyed == 3);
    tss_delete(key);
}
