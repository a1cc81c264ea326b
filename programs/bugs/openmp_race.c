// A parallel loop adds to a shared variable without a reduction clause.
// flags: -fopenmp
// expect: race
// shows: always
static volatile long sum; // volatile: added to in memory, not in a register

int main(void) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 100; i++)
        sum += i; // RACE
}
