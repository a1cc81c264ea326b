// Two phases, one barrier short: the second phase reads what the neighbour may
// not have finished in the first.
// expect: race
// shows: always
#include "../threads.h"

enum { N = 2 };

static long input[N], doubled[N], sums[N];
static pthread_barrier_t barrier;

static NOINLINE void phases(int me) {
    input[me] = me;
    pthread_barrier_wait(&barrier);
    doubled[me] = 2 * input[N - 1 - me];        // RACE
    // a barrier belongs here
    sums[me] = doubled[me] + doubled[N - 1 - me]; // RACE
}

static void left(void) { phases(0); }
static void right(void) { phases(1); }

int main(void) {
    pthread_barrier_init(&barrier, NULL, N);
    together(left, right);
    pthread_barrier_destroy(&barrier);
    use(sums[0]);
}
