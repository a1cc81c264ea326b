// Read-copy-update in miniature: a new version is built aside and published by one
// releasing store; the old ones are freed when all readers are gone.
#include "../threads.h"
#include <stdatomic.h>

enum { VERSIONS = 50 };

struct config { long width, height; };

static struct config *_Atomic current;
static struct config *retired[VERSIONS];

static void updater(void) {
    for (int i = 1; i < VERSIONS; i++) {
        struct config *fresh = malloc(sizeof *fresh);
        fresh->width = fresh->height = i;
        retired[i] = atomic_exchange_explicit(&current, fresh, memory_order_acq_rel);
    }
}

static void reader(void) {
    for (int i = 0; i < 200; i++) {
        const struct config *seen = atomic_load_explicit(&current, memory_order_acquire);
        if (seen->width != seen->height) abort();
    }
}

int main(void) {
    current = calloc(1, sizeof *current);
    together(updater, reader, reader);
    for (int i = 1; i < VERSIONS; i++) free(retired[i]);
    free(current);
}
