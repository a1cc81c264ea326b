// OpenMP: critical sections, atomic updates and single.
// flags: -fopenmp
// tsan: false-alarm (libgomp synchronises where it does not see it)
#include <assert.h>

static long critical, updates, singles;

int main(void) {
#pragma omp parallel num_threads(2)
    {
        for (int i = 0; i < 100; i++) {
#pragma omp critical
            critical++;
#pragma omp atomic
            updates++;
        }
#pragma omp single
        singles++;
    }
    assert(critical == 200 && updates == 200 && singles == 1);
}
