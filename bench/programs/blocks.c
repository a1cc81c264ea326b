/*
 * Blocks: memset, memcpy and memmove of sixteen bytes to sixty-four kilobytes, in
 * memory of each thread's own and from a source that all of them read.
 */
#include <string.h>

#include "harness.h"

#define SPACE (1 << 20)
#define LARGEST (1 << 16)

static unsigned char source[SPACE];
static uint64_t sums[MOST_THREADS];

static void work(int me) {
    unsigned char *own = (unsigned char *)calloc(1, SPACE);
    uint64_t random = seed(me), sum = 0;
    for (long i = 0; i < scaled(640000) / threads; i++) {
        uint64_t choice = next_random(&random);
        size_t size = (size_t)16 << (choice >> 8) % 13;
        size_t from = (choice >> 16) % (SPACE - LARGEST);
        size_t to = (choice >> 40) % (SPACE - LARGEST);
        switch (choice % 4) {
        case 0:
            memset(own + to, (int)(choice & 255), size);
            break;
        case 1:
            memmove(own + to, own + from, size);
            break;
        default:
            memcpy(own + to, source + from, size);
        }
        sum = sum * 31 + own[to + size / 2];
    }
    sums[me] = sum;
    free(own);
}

int main(int argc, char **argv) {
    parameters(argc, argv, 2);
    uint64_t random = seed(0);
    for (int i = 0; i < SPACE; i++)
        source[i] = (unsigned char)next_random(&random);
    in_threads(work);
    uint64_t sum = 0;
    for (int i = 0; i < threads; i++)
        sum = sum * 31 + sums[i];
    return print_checksum(sum);
}
