// drfinder.txt Figure 2 with the variable z of section 3: e1 writes z and e9
// reads it under the same lock. Causally-precedes analysis of the trace must
// then give up on the race on x; running the locks the other way round need not.
// expect: race x
// expect: race y
// shows: sometimes
#include "../threads.h"

static long x, y, z;
static pthread_mutex_t k = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t o[6] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
};

static void synchronized(pthread_mutex_t *lock) {
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
}

static NOINLINE void f2(void) {
    synchronized(&o[1]); // e2
    y = 1;               // m2: RACE y
    synchronized(&n);    // e3
}

static NOINLINE void f1(void) {
    x = 1;                  // m1: RACE x
    pthread_mutex_lock(&k); // e1
    z = 1;
    pthread_mutex_unlock(&k);
    f2();
}

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

static NOINLINE void f8(void) {
    pthread_mutex_lock(&k); // e9
    use(z);
    pthread_mutex_unlock(&k);
    x = 2; // m4: RACE x
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
