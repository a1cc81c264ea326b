// pecan.txt Figure 3: (v2, v8, v5) is an atomicity violation. It did not happen
// in the trace, but v8 can be moved to v4, where T1 does not hold the lock.
// expect: atomicity
// shows: never
#include "../threads.h"
#include <stdio.h>

static int x = 10;
static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;

static void T1(void) {
    pthread_mutex_lock(&l);   // v1
    int old = x;              // v2: HERE
    pthread_mutex_unlock(&l); // v3
    pthread_mutex_lock(&l);   // v4
    x = old + 1;              // v5: HERE
    pthread_mutex_unlock(&l); // v6
}

static void T2(void) {
    usleep(10000);
    pthread_mutex_lock(&l);   // v7
    x = 20;                   // v8: HERE
    pthread_mutex_unlock(&l); // v9
}

int main(void) {
    together(T1, T2);
    printf("%d\n", x);
    return x == 11; // one after the other it is 20 or 21
}
