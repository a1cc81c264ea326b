// A thread-local variable is not private once its address is given away.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static _Thread_local int mine;
static int *_Atomic escaped;

static void owner(void) {
    mine = 1;
    escaped = &mine;
    mine = 2; // RACE
    invisible_step();
    invisible_await(2);
    use(mine);
}

static void thief(void) {
    invisible_await(1);
    *escaped = 3; // RACE
    invisible_step();
}

int main(void) { together(owner, thief); }
