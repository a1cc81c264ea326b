// epoll_wait returns because of a write, and the read after it hands over.
#include "../threads.h"
#include <sys/epoll.h>

static long payload;
static int ends[2];

static void sender(void) {
    payload = 42;
    usleep(5000);
    if (write(ends[1], "x", 1) != 1) abort();
}

static void receiver(void) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = ends[0]};
    int set = epoll_create1(0);
    if (epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event) != 0) abort();
    if (epoll_wait(set, &event, 1, -1) != 1) abort();
    char byte;
    if (read(event.data.fd, &byte, 1) != 1) abort();
    close(set);
    if (payload != 42) abort();
}

int main(void) {
    if (pipe(ends) != 0) return 1;
    together(sender, receiver);
}
