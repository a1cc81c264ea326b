// acculock.txt Figure 3: no race, for each pair of accesses shares a lock; but
// no one lock protects all three. If B comes between T1's two accesses,
// AccuLock warns of (A, B).
#include "../threads.h"

static int x;
static pthread_mutex_t l1 = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t l2 = PTHREAD_MUTEX_INITIALIZER;

static void T1(void) {
    pthread_mutex_lock(&l2);
    x = 1;
    pthread_mutex_unlock(&l2);
    pthread_mutex_lock(&l1);
    use(x); // A
    pthread_mutex_unlock(&l1);
}

static void T2(void) {
    pthread_mutex_lock(&l1);
    pthread_mutex_lock(&l2);
    x = 2; // B
    pthread_mutex_unlock(&l2);
    pthread_mutex_unlock(&l1);
}

int main(void) { together(T1, T2); }
