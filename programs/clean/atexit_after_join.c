// atexit handlers read what joined threads have written; constructors and
// destructors of the program run around main.
// exit: 3
#include "../threads.h"

static long result, early;

__attribute__((constructor)) static void before_main(void) { early = 1; }

static void summary(void) {
    if (result != 42 || early != 1) abort();
}

static void worker(void) { result = early + 41; }

int main(void) {
    atexit(summary);
    together(worker);
    exit(3);
}
