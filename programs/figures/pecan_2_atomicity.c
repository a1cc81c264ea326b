// pecan.txt Figure 2, the atomicity violation pattern r - w - r: t1 reads s1
// twice in what should be one region, and t2's write can come between. Every
// access is locked, so there is no race.
// expect: atomicity
// shows: never
// harm: abort
#include "../threads.h"

static int s1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int get(void) {
    pthread_mutex_lock(&lock);
    int value = s1;           // e1, e3: HERE
    pthread_mutex_unlock(&lock);
    return value;
}

static void t1(void) {
    int first = get();        // e1
    int second = get();       // e3
    if (first != second) abort();
}

static void t2(void) {
    usleep(10000);
    pthread_mutex_lock(&lock);
    s1 = 1;                   // e2: HERE
    pthread_mutex_unlock(&lock);
}

int main(void) { together(t1, t2); }
