// pecan.txt Figure 1: three races on x and y, (2,5), (2,6) and (3,7). The last
// one matters: it leads to ERROR, by the schedule 1, 5, 2, 6, 7, 3. Without
// volatile an optimising compiler sees that 6 never holds, and nothing is left.
// expect: race x
// expect: race y
// shows: sometimes
// harm: abort
#include "../threads.h"
#include <stdio.h>

static volatile long x, y;

static void *T2(void *arg) {
    x = 0;           // 5: RACE x
    if (x == 1)      // 6: RACE x
        y = 1;       // 7: RACE y
    return arg;
}

int main(void) {
    pthread_t t2;
    pthread_create(&t2, NULL, T2, NULL); // 1
    x = 1;           // 2: RACE x
    if (y == 1) {    // 3: RACE y
        puts("ERROR"); // 4
        abort();
    }
    pthread_join(t2, NULL);
}
