// Blocks are freed by one thread and soon returned by malloc in another, with no
// order between the two but malloc's own.
#include "../threads.h"
#include <string.h>

static void churn(void) {
    for (int i = 0; i < 3000; i++) {
        size_t size = 16u << i % 6;
        char *volatile block = malloc(size);
        memset(block, i, size);
        free(block);
    }
}

int main(void) { together(churn, churn, churn); }
