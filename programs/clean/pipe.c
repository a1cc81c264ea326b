// A byte through a pipe hands over what was written before it.
#include "../threads.h"

static long payload;
static int ends[2];

static void sender(void) {
    payload = 42;
    if (write(ends[1], "x", 1) != 1) abort();
}

static void receiver(void) {
    char byte;
    if (read(ends[0], &byte, 1) != 1) abort();
    if (payload != 42) abort();
}

int main(void) {
    if (pipe(ends) != 0) return 1;
    together(sender, receiver);
}
