// An eventfd hands over, by write and read.
#include "../threads.h"
#include <stdint.h>
#include <sys/eventfd.h>

static long payload;
static int event;

static void sender(void) {
    payload = 42;
    uint64_t one = 1;
    if (write(event, &one, sizeof one) != sizeof one) abort();
}

static void receiver(void) {
    uint64_t count;
    if (read(event, &count, sizeof count) != sizeof count) abort();
    if (payload != 42) abort();
}

int main(void) {
    event = eventfd(0, 0);
    together(sender, receiver);
}
