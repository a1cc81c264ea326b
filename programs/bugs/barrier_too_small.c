// The barrier is for two, three threads work: the third is not waited for.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static long parts[3];
static pthread_barrier_t barrier;

static void adder(void) {
    pthread_barrier_wait(&barrier);
    invisible_await(1);
    use(parts[0] + parts[1] + parts[2]); // RACE
}

static void worker(void) {
    parts[1] = 1;
    pthread_barrier_wait(&barrier);
}

static void late_worker(void) {
    parts[2] = 2; // RACE
    invisible_step();
}

int main(void) {
    pthread_barrier_init(&barrier, NULL, 2);
    together(adder, worker, late_worker);
    pthread_barrier_destroy(&barrier);
}
