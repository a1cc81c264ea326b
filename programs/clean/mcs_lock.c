// An MCS lock: each waiter spins on a flag in its own node.
#include "../threads.h"
#include <assert.h>
#include <sched.h>
#include <stdatomic.h>

struct node { struct node *_Atomic next; atomic_int waiting; };

static struct node *_Atomic tail;
static int counter;

static void lock(struct node *me) {
    atomic_store_explicit(&me->next, NULL, memory_order_relaxed);
    atomic_store_explicit(&me->waiting, 1, memory_order_relaxed);
    struct node *before = atomic_exchange_explicit(&tail, me, memory_order_acq_rel);
    if (before == NULL) return;
    atomic_store_explicit(&before->next, me, memory_order_release);
    while (atomic_load_explicit(&me->waiting, memory_order_acquire)) sched_yield();
}

static void unlock(struct node *me) {
    struct node *expected = me;
    if (atomic_compare_exchange_strong_explicit(&tail, &expected, NULL, memory_order_release,
                                                memory_order_relaxed))
        return;
    struct node *after;
    while ((after = atomic_load_explicit(&me->next, memory_order_acquire)) == NULL) sched_yield();
    atomic_store_explicit(&after->waiting, 0, memory_order_release);
}

static void count(void) {
    struct node mine;
    for (int i = 0; i < 200; i++) {
        lock(&mine);
        counter++;
        unlock(&mine);
    }
}

int main(void) {
    together(count, count, count);
    assert(counter == 600);
}
