// Phases with a barrier between them: each reads what its neighbour wrote before.
#include "../threads.h"
#include <assert.h>

enum { N = 3, PHASES = 30 };

static long cells[2][N];
static int last_ones;
static pthread_barrier_t barrier;

static NOINLINE void relax(int me) {
    for (int phase = 0; phase < PHASES; phase++) {
        cells[(phase + 1) % 2][me] = cells[phase % 2][(me + 1) % N] + 1;
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) last_ones++;
    }
}

static void a(void) { relax(0); }
static void b(void) { relax(1); }
static void c(void) { relax(2); }

int main(void) {
    pthread_barrier_init(&barrier, NULL, N);
    together(a, b, c);
    pthread_barrier_destroy(&barrier);
    assert(cells[0][0] == PHASES && last_ones == PHASES);
}
