// What comes through one pipe is moved on to another, and hands over at its end.
#include "../threads.h"
#include <fcntl.h>

static long payload;
static int in[2], out[2];

static void sender(void) {
    payload = 42;
    if (write(in[1], "xy", 2) != 2) abort();
}

static void mover(void) {
    if (splice(in[0], NULL, out[1], NULL, 1, 0) != 1) abort();
    if (tee(in[0], out[1], 1, 0) != 1) abort();
}

static void receiver(void) {
    char byte;
    if (read(out[0], &byte, 1) != 1 || byte != 'x') abort();
    if (payload != 42) abort();
    payload = 43;
    if (read(out[0], &byte, 1) != 1 || byte != 'y') abort();
}

int main(void) {
    if (pipe(in) || pipe(out)) return 1;
    together(sender, mover, receiver);
}
