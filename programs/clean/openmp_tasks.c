// OpenMP: tasks with dependences through taskwait.
// flags: -fopenmp
// tsan: false-alarm (libgomp synchronises where it does not see it)
#include <assert.h>

static long fibonacci(int n) {
    if (n < 2) return n;
    long a, b;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void) {
    long result = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    result = fibonacci(10);
    assert(result == 55);
}
