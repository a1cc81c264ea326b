// Sixteen-byte atomics: a pointer and its version change together.
// flags: -mcx16 -latomic
#include "../threads.h"
#include <assert.h>

typedef unsigned __int128 pair; // low half: value, high half: version

static pair shared;
static long plain[2];

static NOINLINE void count(void) {
    for (int i = 0; i < 100; i++) {
        pair old = __atomic_load_n(&shared, __ATOMIC_ACQUIRE), new;
        do {
            new = (((old >> 64) + 1) << 64) | ((unsigned long)old + 1);
        } while (!__atomic_compare_exchange_n(&shared, &old, new, 0, __ATOMIC_ACQ_REL,
                                              __ATOMIC_ACQUIRE));
    }
}

static void publisher(void) {
    plain[0] = 42;
    count();
    pair old = 0;
    while (!__atomic_compare_exchange_n(&shared, &old, old | ((pair)1 << 127), 0,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {}
}

static void reader(void) {
    count();
    while (!(__atomic_load_n(&shared, __ATOMIC_ACQUIRE) >> 127)) usleep(100);
    plain[1] = plain[0];
}

int main(void) {
    together(publisher, reader);
    assert((unsigned long)shared == 200 && plain[1] == 42);
}
