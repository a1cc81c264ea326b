// A loop waits for an epoll that watches an event counter and a pipe, which other
// threads of the process write to.
#include "../threads.h"
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static int epoll, events, ends[2];
static int sum, from_pipe;

static void loop(void) {
    for (int closed = 0; !closed;) {
        struct epoll_event event;
        if (epoll_wait(epoll, &event, 1, -1) != 1) abort();
        if (event.data.fd == events) {
            uint64_t count;
            if (read(events, &count, sizeof count) == sizeof count) sum += (int)count;
        } else {
            char byte;
            closed = read(ends[0], &byte, 1) != 1;
            from_pipe += !closed;
        }
    }
}

static void write_events(void) {
    for (uint64_t one = 1, i = 0; i < 3; i++)
        if (write(events, &one, sizeof one) != sizeof one) abort();
    if (write(ends[1], "x", 1) != 1) abort();
    close(ends[1]);
}

static void watch(int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) abort();
}

int main(void) {
    epoll = epoll_create1(0);
    events = eventfd(0, 0);
    if (pipe(ends) != 0) abort();
    watch(events);
    watch(ends[0]);
    together(loop, write_events);
    if (from_pipe != 1) abort();
}
