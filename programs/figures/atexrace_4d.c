// atexrace.txt Figure 4, case (d): t1 is in f2 while t2 is still in f3; 14 and 25
// race.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

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
    f1(1);
    f2(1);
    invisible_step();
}

static void t2(void) {
    invisible_await(1);
    f3(1);
    f4(1);
}

int main(void) {
    together(t1, t2);
    use(x);
    use(y);
}
