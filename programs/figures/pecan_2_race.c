// pecan.txt Figure 2, the data race pattern: t1 reads s1, t2 writes it.
// expect: race
// shows: always
#include "../threads.h"

static int s1;

static void t1(void) { use(s1); } // e1: RACE
static void t2(void) { s1 = 1; }  // e2: RACE

int main(void) {
    together(t1, t2);
    use(s1);
}
