// acculock.txt Figure 1(a): T1 reads x without the lock, then with it.
// A and B race; happens-before sees it only if T2 gets l1 first.
// expect: race
// shows: sometimes
#include "../threads.h"

static int x;
static pthread_mutex_t l1 = PTHREAD_MUTEX_INITIALIZER;

static void T1(void) {
    use(x); // A: RACE
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
