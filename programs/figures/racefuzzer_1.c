// racefuzzer.txt Figure 1: a real race on z (5, 7), and one on x (1, 10) that
// only looks like it: y orders 1 before 10. ERROR1 can be reached, ERROR2 not.
// expect: race
// shows: sometimes
// harm: abort
#include "../threads.h"
#include <stdio.h>

static int x, y, z;
static pthread_mutex_t L = PTHREAD_MUTEX_INITIALIZER;

static void fail(const char *which) {
    puts(which);
    abort();
}

static void thread1(void) {
    x = 1;                     // 1
    pthread_mutex_lock(&L);    // 2
    y = 1;                     // 3
    pthread_mutex_unlock(&L);  // 4
    if (z == 1)                // 5: RACE
        fail("ERROR1");        // 6
}

static void thread2(void) {
    z = 1;                     // 7: RACE
    pthread_mutex_lock(&L);    // 8
    if (y == 1) {              // 9
        if (x != 1)            // 10
            fail("ERROR2");    // 11
    }
    pthread_mutex_unlock(&L);  // 14
}

int main(void) { together(thread1, thread2); }
