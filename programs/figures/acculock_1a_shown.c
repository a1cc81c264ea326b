// acculock.txt Figure 1(a), in the order in which happens-before sees the race:
// T2 gets l1 first.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static int x;
static pthread_mutex_t l1 = PTHREAD_MUTEX_INITIALIZER;

static void T1(void) {
    invisible_await(1);
    use(x); // A: RACE
    pthread_mutex_lock(&l1);
    use(x);
    pthread_mutex_unlock(&l1);
}

static void T2(void) {
    pthread_mutex_lock(&l1);
    x = 1; // B: RACE
    pthread_mutex_unlock(&l1);
    invisible_step();
}

int main(void) { together(T1, T2); }
