// Fresh memory is handed over by a relaxed atomic: who gets it does not know that
// it was mapped.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"
#include <stdatomic.h>
#include <sys/mman.h>

static _Atomic(char *) memory;

static void maker(void) {
    char *fresh = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); // RACE
    atomic_store_explicit(&memory, fresh, memory_order_relaxed);
    invisible_step();
}

static void user(void) {
    invisible_await(1);
    atomic_load_explicit(&memory, memory_order_relaxed)[16] = 1; // RACE
}

int main(void) { together(maker, user); }
