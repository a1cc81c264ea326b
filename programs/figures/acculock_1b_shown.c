// acculock.txt Figure 1(b), in the order T2, T1, T3: nothing orders A and B.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static int x;
static pthread_mutex_t l1 = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t l2 = PTHREAD_MUTEX_INITIALIZER;

static void T1(void) {
    invisible_await(1);
    pthread_mutex_lock(&l2);
    use(x); // A: RACE
    pthread_mutex_unlock(&l2);
    invisible_step();
}

static void T2(void) {
    pthread_mutex_lock(&l1);
    pthread_mutex_lock(&l2);
    use(x);
    pthread_mutex_unlock(&l2);
    pthread_mutex_unlock(&l1);
    invisible_step();
}

static void T3(void) {
    invisible_await(2);
    pthread_mutex_lock(&l1);
    x = 1; // B: RACE
    pthread_mutex_unlock(&l1);
}

int main(void) { together(T1, T2, T3); }
