// A ticket lock: first come, first served.
#include "../threads.h"
#include <assert.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_uint next_ticket, now_serving;
static int counter;

static void count(void) {
    for (int i = 0; i < 200; i++) {
        unsigned mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
        while (atomic_load_explicit(&now_serving, memory_order_acquire) != mine) sched_yield();
        counter++;
        atomic_store_explicit(&now_serving, mine + 1, memory_order_release);
    }
}

int main(void) {
    together(count, count, count);
    assert(counter == 600);
}
