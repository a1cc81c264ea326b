// atexrace.txt Figure 4, case (d), as in Figure 2 with many calls: t1 comes to f2
// while t2 is still in f3, which it has called thousands of times. 14 and 25 race. A
// sampler that looks at one thread at a time has stopped watching f3.
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
    y += i;                  // 9
    pthread_mutex_unlock(&m);
}

static NOINLINE void f2(int i) {      // 12
    pthread_mutex_lock(&n);  // 13
    y += i;                  // 14: RACE
    pthread_mutex_unlock(&n);
}

static NOINLINE void f3(int j) {      // 22
    pthread_mutex_lock(&m);  // 23
    x += j;                  // 24
    y += j;                  // 25: RACE
    pthread_mutex_unlock(&m);
}

static NOINLINE void f4(int j) {      // 28
    pthread_mutex_lock(&n);  // 29
    y += j;                  // 30
    pthread_mutex_unlock(&n);
}

static void t1(void) {
    for (int i = 0; i < MANY; i++) f1(i);
    while (!invisible_reached(1)) {}
    f1(0);
    invisible_step();
    do f2(0);
    while (!invisible_reached(3));
}

static void t2(void) {
    for (int i = 0; i < MANY; i++) f3(i);
    invisible_step();
    while (!invisible_reached(2)) {}
    for (int i = 0; i < SOME; i++) f3(i);
    invisible_step();
    f4(0);
}

int main(void) {
    together(t1, t2);
    use(x);
    use(y);
}
