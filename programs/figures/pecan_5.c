// pecan.txt Figure 5: v3 and v8 share no lock and no partial order relates them
// directly, yet they cannot race: T2 starts (v5) when T1 already holds the lock
// that T2 needs at v6. A lockset predictor warns of (v3, v8).
#include "../threads.h"

static int x;
static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;

static void *T2(void *arg) {  // v5
    pthread_mutex_lock(&l);   // v6
    pthread_mutex_unlock(&l); // v7
    x = 2;                    // v8
    return arg;
}

int main(void) {
    pthread_t t2;
    pthread_mutex_lock(&l);              // v1
    pthread_create(&t2, NULL, T2, NULL); // v2
    x = 1;                               // v3
    pthread_mutex_unlock(&l);            // v4
    pthread_join(t2, NULL);
    return x - 2;
}
