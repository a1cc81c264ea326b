// A parallel loop adds to a shared variable without a reduction clause.
// flags: -fopenmp
// expect: race
// shows: always
#define _GNU_SOURCE
#include <unistd.h>

static volatile long sum; // volatile: added to in memory, not in a register

int main(void) {
#pragma omp parallel for num_threads(2) schedule(static)
    for (int i = 0; i < 100; i++) {
        if (i == 50) usleep(5000); // the second thread's first turn
        sum += i;                  // RACE
    }
}
