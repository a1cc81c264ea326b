// drfinder.txt Figure 2, the motivating example: the trace in which the lock
// edges e1 -> e9 (on k) and e3 -> e6 (on n) hide two races, (m1, m4) on x and
// (m2, m3) on y. DrFinder reverses both edges.
// expect: race x
// expect: race y
// shows: sometimes
#include "../threads.h"

static long x, y;
static pthread_mutex_t k = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t o[6] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
};

static void synchronized(pthread_mutex_t *lock) {
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
}

// t1: f1 calls f2
static NOINLINE void f2(void) {
    synchronized(&o[1]); // e2
    y = 1;               // m2: RACE y
    synchronized(&n);    // e3
}

static NOINLINE void f1(void) {
    x = 1;            // m1: RACE x
    synchronized(&k); // e1
    f2();
}

// t2: f3 calls f4 calls f5
static NOINLINE void f5(void) {
    synchronized(&n); // e6
    y = 2;            // m3: RACE y
}

static NOINLINE void f4(void) {
    synchronized(&o[2]); // e4
    synchronized(&o[3]); // e5
    f5();
}

static NOINLINE void f3(void) {
    usleep(20000);
    f4();
}

// t3: f6 calls f7 calls f8
static NOINLINE void f8(void) {
    synchronized(&k); // e9
    x = 2;            // m4: RACE x
}

static NOINLINE void f7(void) {
    synchronized(&o[4]); // e7
    synchronized(&o[5]); // e8
    f8();
}

static NOINLINE void f6(void) {
    usleep(20000);
    f7();
}

int main(void) {
    together(f1, f3, f6);
    use(x + y);
}
