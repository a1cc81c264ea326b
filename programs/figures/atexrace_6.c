// atexrace.txt Figure 6: f5(10) and f6(100) run the blocks b11 and b22, which race
// on x (6, 23). The race on y (10, 19) is in the blocks that do not run: having
// seen the pair <f5, f6> once is not having seen all of it.
// expect: race
// shows: always
#include "../threads.h"

// Ends a basic block in its own way, so that no compiler merges it with another.
#define BLOCK(name) __asm__ volatile("# " name : : : "memory")

static long x, y;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t n = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void f5(int i) {           // 3
    if (i < 100) {                // 4
        pthread_mutex_lock(&m);   // 5
        x++;                      // 6: RACE
        BLOCK("b11");
        pthread_mutex_unlock(&m); // 7
    } else {                      // 8
        pthread_mutex_lock(&n);   // 9
        x += y;                   // 10
        BLOCK("b12");
        pthread_mutex_unlock(&n); // 11
    }
}

static NOINLINE void f6(int j) {           // 16
    if (j < 100) {                // 17
        pthread_mutex_lock(&m);   // 18
        y++;                      // 19
        BLOCK("b21");
        pthread_mutex_unlock(&m); // 20
    } else {                      // 21
        pthread_mutex_lock(&n);   // 22
        y += x;                   // 23: RACE
        BLOCK("b22");
        pthread_mutex_unlock(&n); // 24
    }
}

static void t1(void) { f5(10); } // 1
static void t2(void) { f6(100); } // 14

int main(void) {
    together(t1, t2);
    use(x);
    use(y);
}
