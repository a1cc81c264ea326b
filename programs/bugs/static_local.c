// A static local variable is shared by all threads that call the function.
// expect: race
// shows: always
#include "../threads.h"

static NOINLINE int next_id(void) {
    static int last;
    return ++last; // RACE
}

static void client(void) { use(next_id()); }

int main(void) { together(client, client); }
