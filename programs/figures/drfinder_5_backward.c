// drfinder.txt Figure 5(b), the backward case: while t1 stands at e1, t2 is in
// fk, which takes no lock; it must return to f1 and call fd before e2 comes.
// expect: race
// shows: sometimes
#include "../threads.h"

static int x;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void t1(void) {
    x = 1;                     // RACE
    pthread_mutex_lock(&lock); // e1
    pthread_mutex_unlock(&lock);
}

static NOINLINE void fk(void) { usleep(20000); } // e*

static NOINLINE void fd(void) {
    pthread_mutex_lock(&lock); // e2
    pthread_mutex_unlock(&lock);
    x = 2; // RACE
}

static NOINLINE void f1(void) {
    fk();
    fd();
}

int main(void) {
    together(t1, f1);
    use(x);
}
