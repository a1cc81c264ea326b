// Two C11 threads write the same variable.
// expect: race
// shows: always
// tsan: crashes (it does not intercept thrd_create)
#include <stddef.h>
#include <threads.h>

static int shared;

static int first(void *arg) {
    shared = 1; // RACE
    return arg != NULL;
}

static int second(void *arg) {
    shared = 2; // RACE
    return arg != NULL;
}

int main(void) {
    thrd_t a, b;
    thrd_create(&a, first, NULL);
    thrd_create(&b, second, NULL);
    thrd_join(a, NULL);
    thrd_join(b, NULL);
    return shared == 0;
}
