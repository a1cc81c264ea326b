// main waits for one thread and uses the result of the other.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static int result;

static void *worker(void *arg) {
    result = 42; // RACE
    invisible_step();
    return arg;
}

static void *idler(void *arg) { return arg; }

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, idler, NULL);
    pthread_join(b, NULL);
    invisible_await(1);
    use(result); // RACE
    pthread_join(a, NULL);
}
