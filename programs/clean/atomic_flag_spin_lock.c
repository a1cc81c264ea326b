// The smallest spin lock: test-and-set acquires, clear releases.
#include "../threads.h"
#include <assert.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_flag lock = ATOMIC_FLAG_INIT;
static int counter;

static void count(void) {
    for (int i = 0; i < 300; i++) {
        while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) sched_yield();
        counter++;
        atomic_flag_clear_explicit(&lock, memory_order_release);
    }
}

int main(void) {
    together(count, count);
    assert(counter == 600);
}
