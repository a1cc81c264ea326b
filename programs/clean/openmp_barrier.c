// OpenMP: a barrier between two phases, each reading the neighbour's work.
// flags: -fopenmp
// tsan: false-alarm (libgomp synchronises where it does not see it)
#include <assert.h>
#include <omp.h>

static long first[2], second[2];

int main(void) {
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        first[me] = me + 1;
#pragma omp barrier
        second[me] = first[1 - me];
    }
    assert(second[0] == 2 && second[1] == 1);
}
