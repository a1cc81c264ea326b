// A message through a pair of sockets hands over what was written before it.
#include "../threads.h"
#include <sys/socket.h>

static long payload;
static int ends[2];

static void sender(void) {
    payload = 42;
    if (send(ends[0], "x", 1, 0) != 1) abort();
}

static void receiver(void) {
    char byte;
    if (recv(ends[1], &byte, 1, 0) != 1) abort();
    if (payload != 42) abort();
}

int main(void) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
    together(sender, receiver);
}
