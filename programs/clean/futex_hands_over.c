// A thread that is woken from its wait for a futex knows what its waker knew: the
// kernel orders the two, and nothing else does.
// tsan: false-alarm (system calls by syscall() are not looked at)
#include "../threads.h"
#include <assert.h>
#include <linux/futex.h>
#include <sys/syscall.h>

static int word;
static int data;

static void waiter(void) {
    if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == 0) assert(data == 42);
}

static void waker(void) {
    data = 42;
    for (int i = 0; i < 1000; i++) {
        if (syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 1) return;
        usleep(1000);
    }
    abort();
}

int main(void) { together(waiter, waker); }
