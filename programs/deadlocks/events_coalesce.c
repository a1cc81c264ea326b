// An event counter is read once for each event, but one read takes all that have come:
// the next one waits for ever, in the kernel.
// expect: deadlock
#include "../threads.h"
#include <stdint.h>
#include <sys/eventfd.h>

enum { EVENTS = 3 };

static int events;

static void consume(void) {
    for (int i = 0; i < EVENTS; i++) {
        uint64_t count;
        if (read(events, &count, sizeof count) != sizeof count) abort(); // HERE
    }
}

static void produce(void) {
    for (int i = 0; i < EVENTS; i++) {
        uint64_t one = 1;
        if (write(events, &one, sizeof one) != sizeof one) abort();
        usleep(1000);
    }
}

int main(void) {
    events = eventfd(0, 0);
    together(consume, produce);
}
