// A hundred thousand frames deep, in two threads with large stacks.
// tsan: crashes (its shadow stack has room for 65,536 frames)
#include "../threads.h"

static NOINLINE long depth(long n) {
    if (n == 0) return 0;
    long below = depth(n - 1);
    use(below);
    return below + 1;
}

static void *worker(void *arg) {
    if (depth(100000) != 100000) abort();
    return arg;
}

int main(void) {
    pthread_t threads[2];
    pthread_attr_t large;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, 64 << 20);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], &large, worker, NULL) != 0) abort();
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
