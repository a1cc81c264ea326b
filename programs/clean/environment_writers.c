// Threads set variables of the environment at the same time, which the C library has a lock
// for, and look at it when all have done so.
#include "../threads.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void first(void) {
    setenv("FIRST", "1", 1);
    unsetenv("NOBODY");
}

static void second(void) { setenv("SECOND", "2", 1); }

int main(void) {
    assert(getenv("SECOND") == NULL);
    together(first, second);
    assert(strcmp(getenv("FIRST"), "1") == 0 && strcmp(getenv("SECOND"), "2") == 0);
}
