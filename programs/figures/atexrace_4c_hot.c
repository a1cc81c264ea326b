// atexrace.txt Figure 4, case (c), as in Figure 2 with many calls: t2 comes to f4
// while t1 is still in f1, which it has called thousands of times. 9 and 30 race. A
// sampler that looks at one thread at a time has stopped watching f1.
// expect: race
// shows: sometimes
#include "../threads.h"
#include "../invisible.h"

// So often a function is called before it is called beside the other.
enum { MANY = 2000, SOME = 1000 };

static long x, y;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t n = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void f1(int i) {      // 6
    pthread_mutex_lock(&m);  // 7
    x += i;                  // 8
    y += i;                  // 9: RACE
    pthread_mutex_unlock(&m);
}

static NOINLINE void f2(int i) {      // 12
    pthread_mutex_lock(&n);  // 13
    y += i;                  // 14
    pthread_mutex_unlock(&n);
}

static NOINLINE void f3(int j) {      // 22
    pthread_mutex_lock(&m);  // 23
    x += j;                  // 24
    y += j;                  // 25
    pthread_mutex_unlock(&m);
}

static NOINLINE void f4(int j) {      // 28
    pthread_mutex_lock(&n);  // 29
    y += j;                  // 30: RACE
    pthread_mutex_unlock(&n);
}

static void t1(void) {
    for (int i = 0; i < MANY; i++) f1(i);
    invisible_step();
    while (!invisible_reached(2)) {}
    for (int i = 0; i < SOME; i++) f1(i);
    invisible_step();
    f2(0);
}

static void t2(void) {
    for (int i = 0; i < MANY; i++) f3(i);
    while (!invisible_reached(1)) {}
    f3(0);
    invisible_step();
    do f4(0);
    while (!invisible_reached(3));
}

int main(void) {
    together(t1, t2);
    use(x);
    use(y);
}
