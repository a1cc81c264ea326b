/*
 * Byte-wise string work: each thread makes up text, changes its case, turns words
 * around and counts letters, one byte at a time.
 */
#include "harness.h"

#define LENGTH 4096

static uint64_t sums[MOST_THREADS];

static void compose(char *text, uint64_t *random) {
    for (int i = 0; i < LENGTH - 1; i++) {
        uint64_t letter = next_random(random) % 32;
        text[i] = letter < 26 ? (char)('a' + letter) : ' ';
    }
    text[LENGTH - 1] = '\0';
}

static void capitalize(char *text) {
    char before = ' ';
    for (; *text != '\0'; text++) {
        if (before == ' ' && *text >= 'a' && *text <= 'z')
            *text = (char)(*text - 'a' + 'A');
        before = *text;
    }
}

static void turn_words(char *text) {
    while (*text != '\0') {
        char *end = text;
        while (*end != '\0' && *end != ' ')
            end++;
        char *after = end;
        for (char *low = text; low < --end; low++) {
            char letter = *low;
            *low = *end;
            *end = letter;
        }
        text = *after == '\0' ? after : after + 1;
    }
}

static uint64_t hash(const char *text) {
    uint64_t hash = 14695981039346656037u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

static void work(int me) {
    char *text = (char *)malloc(LENGTH);
    uint64_t random = seed(me), sum = 0;
    for (long i = 0; i < scaled(6000) / threads; i++) {
        compose(text, &random);
        capitalize(text);
        turn_words(text);
        sum = sum * 31 + hash(text);
    }
    sums[me] = sum;
    free(text);
}

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    in_threads(work);
    uint64_t sum = 0;
    for (int i = 0; i < threads; i++)
        sum = sum * 31 + sums[i];
    return print_checksum(sum);
}
