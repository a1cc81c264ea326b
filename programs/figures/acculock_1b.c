// acculock.txt Figure 1(b): three threads, two locks. A and B share no lock and
// race; the order T1, T2, T3 or T3, T2, T1 hides it from happens-before.
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
}

static void T2(void) {
    pthread_mutex_lock(&l1);
    pthread_mutex_lock(&l2);
    use(x);
    pthread_mutex_unlock(&l2);
    pthread_mutex_unlock(&l1);
}

static void T3(void) {
    pthread_mutex_lock(&l1);
    x = 1; // B: RACE
    pthread_mutex_unlock(&l1);
}

int main(void) { together(T1, T2, T3); }
