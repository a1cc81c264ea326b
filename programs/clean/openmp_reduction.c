// OpenMP: a reduction, with static and with dynamic scheduling.
// flags: -fopenmp
// tsan: false-alarm (libgomp synchronises where it does not see it)
#include <assert.h>

int main(void) {
    long sum = 0, product = 1;
#pragma omp parallel for num_threads(2) reduction(+ : sum) schedule(static)
    for (int i = 1; i <= 1000; i++) sum += i;
#pragma omp parallel for num_threads(2) reduction(* : product) schedule(dynamic)
    for (int i = 1; i <= 20; i++) product *= i;
    assert(sum == 500500 && product == 2432902008176640000);
}
