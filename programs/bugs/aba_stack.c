// A lock-free stack of slots by their numbers: who has read its top may exchange it
// although the slot was taken, and given back, meanwhile. All accesses are atomic.
// expect: atomicity
// shows: never
// harm: abort
#include "../threads.h"
#include <assert.h>
#include <stdatomic.h>

enum { SLOTS = 3, NONE = -1 };

static atomic_int top, below[SLOTS], users[SLOTS];

static int take(void) {
    int slot = atomic_load(&top);
    while (slot != NONE) {
        int next = atomic_load(&below[slot]);
        if (atomic_compare_exchange_strong(&top, &slot, next)) { // HERE
            assert(atomic_fetch_add(&users[slot], 1) == 0);
            return slot;
        }
    }
    return NONE;
}

static void give(int slot) {
    if (slot == NONE) return;
    atomic_fetch_sub(&users[slot], 1);
    int under = atomic_load(&top);
    do
        atomic_store(&below[slot], under);
    while (!atomic_compare_exchange_strong(&top, &under, slot));
}

static void one(void) { give(take()); }

static void two(void) {
    int first = take(), second = take();
    give(first);
    first = take();
    give(first);
    give(second);
}

int main(void) {
    for (int slot = 0; slot < SLOTS; slot++) atomic_store(&below[slot], slot - 1);
    atomic_store(&top, SLOTS - 1);
    together(one, two);
    int left = 0;
    while (take() != NONE) left++;
    assert(left == SLOTS);
}
