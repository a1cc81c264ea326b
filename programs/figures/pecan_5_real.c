// pecan.txt Figure 5 without the partial order from v2 to v5: (v3, v8) is then a
// real race, and a schedule for it has to move the whole locked region v1..v3.
// expect: race
// shows: sometimes
#include "../threads.h"

static int x;
static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;

static void T1(void) {
    pthread_mutex_lock(&l);   // v1
    x = 1;                    // v3: RACE
    pthread_mutex_unlock(&l); // v4
}

static void T2(void) {        // v5
    usleep(10000);
    pthread_mutex_lock(&l);   // v6
    pthread_mutex_unlock(&l); // v7
    x = 2;                    // v8: RACE
}

int main(void) {
    together(T1, T2);
    use(x);
}
