// A program fills blocks to the size that the C library says is usable, and finds
// everything again when the block has grown.
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static char *filled(size_t size) {
    char *block = malloc(size);
    memset(block, (int)size, malloc_usable_size(block));
    return block;
}

int main(void) {
    for (size_t size = 1; size < 200; size++) {
        // Leaves memory that was used to its end.
        free(filled(size | 31));
        char *block = filled(size);
        size_t usable = malloc_usable_size(block);
        if (usable < size) return 1;
        char *grown = realloc(block, 2 * usable + 100);
        for (size_t at = 0; at < usable; at++)
            if (grown[at] != (char)size) return 2;
        free(grown);
    }
    return malloc_usable_size(NULL) != 0;
}
