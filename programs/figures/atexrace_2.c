// atexrace.txt Figure 2, with <a, b> = <40, 40>: y is guarded by m in f1 and f3
// but by n in f2 and f4, so 9 races with 30 and 14 with 25.
// expect: race p
// expect: race q
// shows: sometimes
#include "../threads.h"

enum { a = 40, b = 40 };

static long x, y;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t n = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void f1(int i) {      // 6
    pthread_mutex_lock(&m);  // 7
    x += i;                  // 8
    y += i;                  // 9: RACE p
    pthread_mutex_unlock(&m);
}

static NOINLINE void f2(int i) {      // 12
    pthread_mutex_lock(&n);  // 13
    y += i;                  // 14: RACE q
    pthread_mutex_unlock(&n);
}

static NOINLINE void f3(int j) {      // 22
    pthread_mutex_lock(&m);  // 23
    x += j;                  // 24
    y += j;                  // 25: RACE q
    pthread_mutex_unlock(&m);
}

static NOINLINE void f4(int j) {      // 28
    pthread_mutex_lock(&n);  // 29
    y += j;                  // 30: RACE p
    pthread_mutex_unlock(&n);
}

static void t1(void) {
    for (int i = 0; i < a; i++) f1(i); // 1-2
    for (int i = 0; i < a; i++) f2(i); // 3-4
}

static void t2(void) {
    for (int j = 0; j < b; j++) f3(j); // 17-18
    for (int j = 0; j < b; j++) f4(j); // 19-20
}

int main(void) {
    together(t1, t2);
    use(x);
    use(y);
}
