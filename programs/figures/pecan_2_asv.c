// pecan.txt Figure 2, the atomic-set violation pattern w - r - r - w: s1 and s2
// belong together, and t2 can read the new s1 with the old s2. No race.
// expect: atomic-set
// shows: never
// harm: abort
#include "../threads.h"

static int s1, s2; // always equal, says the programmer
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void t1(void) {
    usleep(10000);
    pthread_mutex_lock(&lock);
    s1 = 1;                    // e1: HERE
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    s2 = 1;                    // e4: HERE
    pthread_mutex_unlock(&lock);
}

static void t2(void) {
    pthread_mutex_lock(&lock);
    int first = s1;            // e2: HERE
    int second = s2;           // e3: HERE
    pthread_mutex_unlock(&lock);
    if (first != second) abort();
}

int main(void) { together(t1, t2); }
