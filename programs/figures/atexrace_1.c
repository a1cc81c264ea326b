// atexrace.txt Figure 1: two threads, four functions; f1 races with f4 and f2
// with f3. f1 is hot by the time the rare f4 runs: a sampler that looks at one
// thread at a time has stopped watching it.
// expect: race a
// expect: race b
// shows: always
#include "../threads.h"

static long shared_a, shared_b;

static NOINLINE void f1(void) { shared_a = 1; } // RACE a
static NOINLINE void f4(void) { shared_a = 4; } // RACE a
static NOINLINE void f2(void) { shared_b = 2; } // RACE b
static NOINLINE void f3(void) { shared_b = 3; } // RACE b

static void t1(void) {
    for (int i = 0; i < 1000; i++) { // 1
        if (i % 100 != 99) f1();     // 2
        else f2();                   // 3
    }
}

static void t2(void) {
    for (int i = 0; i < 100; i++) {  // 5
        if (i % 10 != 9) f3();       // 6
        else f4();                   // 7
    }
}

int main(void) {
    together(t1, t2);
    use(shared_a);
    use(shared_b);
}
