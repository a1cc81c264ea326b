// pecan.txt Figure 4: (v2, v5) is a race. A schedule that shows it must move v3
// along with v2, since the one follows the other in the same thread.
// expect: race
// shows: always
#include "../threads.h"

static int a, x, b;

static void T1(void) {
    a = 1; // v1
    x = 1; // v2: RACE
    a = 2; // v3
}

static void T2(void) {
    b = 1; // v4
    x = 2; // v5: RACE
    b = 2; // v6
}

int main(void) {
    together(T1, T2);
    use(x);
    return a + b - 4;
}
