// Input and output: threads write files, read them again, and add up what they find
// with a lock held.
#include "../../../programs/threads.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 16 << 10 };

static long rounds, total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void copier(void) {
    static _Thread_local char from[BLOCK], to[BLOCK];
    memset(from, 1, BLOCK);
    char name[] = "/tmp/racehound-bench-XXXXXX";
    int file = mkstemp(name);
    if (file < 0) abort();
    unlink(name);
    for (long i = 0; i < rounds; i++) {
        if (pwrite(file, from, BLOCK, i % 64 * BLOCK) != BLOCK) abort();
        if (pread(file, to, BLOCK, i % 64 * BLOCK) != BLOCK) abort();
        long sum = 0;
        for (int j = 0; j < BLOCK; j += 64) sum += to[j];
        pthread_mutex_lock(&lock);
        total += sum;
        pthread_mutex_unlock(&lock);
    }
    close(file);
}

int main(int count, char **arguments) {
    rounds = 150 * (count > 1 ? atol(arguments[1]) : 1);
    together(copier, copier);
    printf("%ld\n", total);
}
