// A lock-free stack of slots by their numbers whose top counts its changes: who has
// read it cannot exchange it once it was changed.
#include "../threads.h"
#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

enum { SLOTS = 3 };

// The number of the slot plus one in the low half, changes in the high one.
static _Atomic uint64_t top;
static _Atomic uint32_t below[SLOTS];
static atomic_int users[SLOTS];

static uint64_t changed(uint64_t now, uint32_t slot) { return ((now >> 32) + 1) << 32 | slot; }

static uint32_t take(void) {
    uint64_t now = atomic_load(&top);
    while ((uint32_t)now != 0) {
        uint32_t slot = (uint32_t)now;
        if (atomic_compare_exchange_weak(&top, &now, changed(now, atomic_load(&below[slot - 1])))) {
            assert(atomic_fetch_add(&users[slot - 1], 1) == 0);
            return slot;
        }
    }
    return 0;
}

static void give(uint32_t slot) {
    if (slot == 0) return;
    atomic_fetch_sub(&users[slot - 1], 1);
    uint64_t now = atomic_load(&top);
    do
        atomic_store(&below[slot - 1], (uint32_t)now);
    while (!atomic_compare_exchange_weak(&top, &now, changed(now, slot)));
}

static void one(void) { give(take()); }

static void two(void) {
    uint32_t first = take(), second = take();
    give(first);
    first = take();
    give(first);
    give(second);
}

int main(void) {
    for (uint32_t slot = 1; slot < SLOTS; slot++) atomic_store(&below[slot], slot);
    atomic_store(&top, SLOTS);
    together(one, two);
    int left = 0;
    while (take() != 0) left++;
    assert(left == SLOTS);
}
