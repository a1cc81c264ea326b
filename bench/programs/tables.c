/*
 * Read-shared: tables that one thread fills, and then all read at random places.
 */
#include "harness.h"

#define ENTRIES (1 << 16)

static float slope[ENTRIES];
static int32_t base[ENTRIES];
static uint16_t next[ENTRIES];
static uint64_t sums[MOST_THREADS];

static void look_up(int me) {
    uint64_t sum = 0;
    uint32_t at = (uint32_t)me * 977;
    for (long i = 0; i < scaled(40000000) / threads; i++) {
        at = (at * 5 + next[at % ENTRIES]) % ENTRIES;
        sum += (uint64_t)(base[at] + (int32_t)(slope[at] * (float)(i & 255)));
    }
    sums[me] = sum;
}

int main(int argc, char **argv) {
    parameters(argc, argv, 8);
    uint64_t random = seed(0);
    for (int i = 0; i < ENTRIES; i++) {
        slope[i] = (float)(next_random(&random) % 1000) / 8;
        base[i] = (int32_t)(next_random(&random) % 100000);
        next[i] = (uint16_t)next_random(&random);
    }
    in_threads(look_up);
    uint64_t sum = 0;
    for (int i = 0; i < threads; i++)
        sum = sum * 31 + sums[i];
    return print_checksum(sum);
}
