// OpenMP: what a team does is cancelled, so nobody waits for those who are not coming.
// flags: -fopenmp
// tsan: false-alarm (libgomp synchronises where it does not see it)
#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments) {
    if (!omp_get_cancellation() && count == 1) {
        setenv("OMP_CANCELLATION", "true", 1);
        execl("/proc/self/exe", arguments[0], "again", (char *)NULL);
        return 1;
    }
    int found = 0, sum = 0;
#pragma omp parallel num_threads(3)
#pragma omp for
    for (int i = 0; i < 30; i++) {
#pragma omp cancellation point for
        if (i == 7) {
#pragma omp atomic write
            found = i;
#pragma omp cancel for
        }
    }
    assert(found == 7);
#pragma omp parallel num_threads(3)
    {
        if (omp_get_thread_num() == 1) {
#pragma omp cancel parallel
        }
#pragma omp cancellation point parallel
#pragma omp barrier
    }
#pragma omp parallel num_threads(3)
#pragma omp single
    {
        for (int i = 0; i < 4; i++)
#pragma omp task shared(sum)
        {
#pragma omp atomic
            sum += i;
        }
#pragma omp taskwait
        assert(sum == 6);
    }
    return 0;
}
