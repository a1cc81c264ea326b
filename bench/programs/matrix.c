/*
 * Doubles in blocks: two shared matrices are multiplied block by block into rows
 * of each thread's own.
 */
#include "harness.h"

#define SIDE 256
#define BLOCK 32

static double left[SIDE][SIDE], right[SIDE][SIDE], product[SIDE][SIDE];

static void multiply_block(int row, int column, int inner) {
    for (int i = row; i < row + BLOCK; i++)
        for (int k = inner; k < inner + BLOCK; k++) {
            double factor = left[i][k];
            for (int j = column; j < column + BLOCK; j++)
                product[i][j] += factor * right[k][j];
        }
}

static void multiply(int me) {
    long blocks = SIDE / BLOCK;
    for (long times = scaled(40); times > 0; times--)
        for (long row = share(blocks, me); row < share(blocks, me + 1); row++)
            for (int column = 0; column < SIDE; column += BLOCK)
                for (int inner = 0; inner < SIDE; inner += BLOCK)
                    multiply_block((int)row * BLOCK, column, inner);
}

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            left[i][j] = (double)((i * 7 + j * 3) % 11) - 5;
            right[i][j] = (double)((i * 5 + j * 13) % 17) - 8;
        }
    in_threads(multiply);
    uint64_t sum = 0;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            sum = sum * 31 + (uint64_t)(int64_t)product[i][j];
    return print_checksum(sum);
}
