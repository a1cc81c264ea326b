// acculock.txt Figure 1(c): x has several protecting locks, and A and B hold
// none in common. AccuLock and FastTrack see the race if T2 gets l1 first.
// expect: race
// shows: sometimes
#include "../threads.h"

static int x;
static pthread_mutex_t l1 = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t l2 = PTHREAD_MUTEX_INITIALIZER;

static void T1(void) {
    pthread_mutex_lock(&l2);
    use(x); // A: RACE
    pthread_mutex_unlock(&l2);
    pthread_mutex_lock(&l1);
    use(x);
    pthread_mutex_unlock(&l1);
}

static void T2(void) {
    pthread_mutex_lock(&l1);
    x = 1; // B: RACE
    pthread_mutex_unlock(&l1);
}

int main(void) { together(T1, T2); }
