/*
 * A stencil: a plate of floats cools down step by step; all threads meet at a
 * barrier after each, and read what their neighbours have written.
 */
#include "harness.h"

#define SIDE 514

static float plate[2][SIDE][SIDE];
static pthread_barrier_t barrier;

static void cool(int me) {
    for (long step = 0; step < scaled(1200); step++) {
        float(*from)[SIDE] = plate[step % 2], (*to)[SIDE] = plate[1 - step % 2];
        for (long y = 1 + share(SIDE - 2, me); y < 1 + share(SIDE - 2, me + 1); y++)
            for (int x = 1; x < SIDE - 1; x++)
                to[y][x] = 0.2f * (from[y][x] + from[y - 1][x] + from[y + 1][x] + from[y][x - 1] +
                                   from[y][x + 1]);
        pthread_barrier_wait(&barrier);
    }
}

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            plate[0][y][x] = plate[1][y][x] = (float)((x * y) % 97);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    in_threads(cool);
    pthread_barrier_destroy(&barrier);
    uint64_t sum = 0;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            sum = sum * 31 + (uint64_t)(plate[scaled(1200) % 2][y][x] * 100);
    return print_checksum(sum);
}
