// OpenMP: a parallel loop in which each iteration has its own element.
// flags: -fopenmp
// tsan: false-alarm (libgomp synchronises where it does not see it)
#include <assert.h>

static long squares[1000];

int main(void) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 1000; i++) squares[i] = (long)i * i;
    for (int i = 0; i < 1000; i++) assert(squares[i] == (long)i * i);
}
