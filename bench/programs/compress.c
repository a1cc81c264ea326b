/*
 * Compression: each thread packs blocks of a shared text, with a table of where
 * three bytes were last seen, and writes literals and references, and unpacks them.
 */
#include <string.h>

#include "harness.h"

#define TEXT (1 << 20)
#define BLOCK (1 << 14)
#define TABLE (1 << 12)

static uint8_t text[TEXT];
static uint64_t sums[MOST_THREADS];

static uint32_t slot(const uint8_t *at) {
    uint32_t three = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
    return (three * 2654435761u) >> 20;
}

static int common(const uint8_t *a, const uint8_t *b, const uint8_t *end) {
    int length = 0;
    while (length < 255 && b + length < end && a[length] == b[length])
        length++;
    return length;
}

/* A zero byte and a literal, or a length and two bytes of distance. */
static long pack(const uint8_t *in, uint8_t *out) {
    const uint8_t *end = in + BLOCK, *at = in;
    uint16_t seen[TABLE];
    uint8_t *to = out;
    memset(seen, 0, sizeof seen);
    while (at < end) {
        int length = 0;
        const uint8_t *earlier = in;
        if (at + 3 <= end) {
            uint16_t *last = &seen[slot(at)];
            earlier = in + *last;
            *last = (uint16_t)(at - in);
            length = earlier < at ? common(earlier, at, end) : 0;
        }
        if (length >= 4) {
            uint16_t distance = (uint16_t)(at - earlier);
            *to++ = (uint8_t)length;
            *to++ = (uint8_t)(distance & 255);
            *to++ = (uint8_t)(distance >> 8);
            at += length;
        } else {
            *to++ = 0;
            *to++ = *at++;
        }
    }
    return to - out;
}

static void unpack(const uint8_t *in, long size, uint8_t *out) {
    for (const uint8_t *end = in + size; in < end;) {
        int length = *in++;
        if (length == 0) {
            *out++ = *in++;
            continue;
        }
        const uint8_t *from = out - (in[0] | in[1] << 8);
        in += 2;
        while (length-- > 0)
            *out++ = *from++;
    }
}

static void work(int me) {
    uint8_t *packed = (uint8_t *)malloc(2 * BLOCK), *unpacked = (uint8_t *)malloc(BLOCK);
    uint64_t sum = 0;
    for (long i = 0; i < scaled(1800) / threads; i++) {
        const uint8_t *block = &text[(i * threads + me) * BLOCK % TEXT];
        long size = pack(block, packed);
        unpack(packed, size, unpacked);
        sum = sum * 31 + (uint64_t)size + (memcmp(block, unpacked, BLOCK) == 0);
    }
    sums[me] = sum;
    free(packed);
    free(unpacked);
}

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    uint64_t random = seed(0);
    static const char *const words[] = {"race ", "hound ", "lock ", "thread ", "the ", "of ", "a "};
    for (long i = 0; i < TEXT;)
        for (const char *word = words[next_random(&random) % 7]; *word != '\0' && i < TEXT; word++)
            text[i++] = (uint8_t)(*word ^ (next_random(&random) % 32 == 0));
    in_threads(work);
    uint64_t sum = 0;
    for (int i = 0; i < threads; i++)
        sum = sum * 31 + sums[i];
    return print_checksum(sum);
}
