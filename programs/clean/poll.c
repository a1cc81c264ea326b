// poll waits for a descriptor, the read after it hands over.
#include "../threads.h"
#include <poll.h>

static long payload;
static int ends[2];

static void sender(void) {
    payload = 42;
    usleep(5000);
    if (write(ends[1], "x", 1) != 1) abort();
}

static void receiver(void) {
    struct pollfd wait = {ends[0], POLLIN, 0};
    while (poll(&wait, 1, -1) != 1) {}
    char byte;
    if (read(ends[0], &byte, 1) != 1) abort();
    if (payload != 42) abort();
}

int main(void) {
    if (pipe(ends) != 0) return 1;
    together(sender, receiver);
}
