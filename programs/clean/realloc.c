// calloc, realloc, posix_memalign, aligned_alloc, strdup and reallocarray in threads.
#include "../threads.h"
#include <assert.h>
#include <stdint.h>
#include <string.h>

static void worker(void) {
    for (int round = 0; round < 100; round++) {
        int *numbers = calloc(4, sizeof *numbers);
        for (size_t size = 4; size < 500; size *= 2) {
            numbers = realloc(numbers, 2 * size * sizeof *numbers);
            for (size_t i = size; i < 2 * size; i++) numbers[i] = (int)i;
        }
        assert(numbers[5] == 5);
        numbers = reallocarray(numbers, 8, sizeof *numbers);
        free(numbers);

        void *aligned;
        if (posix_memalign(&aligned, 256, 100) != 0) abort();
        assert((uintptr_t)aligned % 256 == 0);
        free(aligned);
        free(aligned_alloc(64, 128));
        free(strdup("hello"));
    }
}

int main(void) { together(worker, worker); }
