// A lock made of one atomic word and the raw futex system call: 0 free, 1 held,
// 2 held and waited for.
#include "../threads.h"
#include <assert.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static atomic_int word;
static int counter;

static void lock(void) {
    int free = 0;
    if (atomic_compare_exchange_strong_explicit(&word, &free, 1, memory_order_acquire,
                                                memory_order_relaxed))
        return;
    while (atomic_exchange_explicit(&word, 2, memory_order_acquire) != 0)
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void unlock(void) {
    if (atomic_exchange_explicit(&word, 0, memory_order_release) == 2)
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void count(void) {
    for (int i = 0; i < 500; i++) {
        lock();
        counter++;
        unlock();
    }
}

int main(void) {
    together(count, count, count);
    assert(counter == 1500);
}
