// A large struct is assigned (the compiler calls memcpy) while a field changes.
// expect: race
// shows: always
#include "../threads.h"

struct settings { int values[100]; };

static struct settings live, snapshot;

static void saver(void) { snapshot = live; }       // RACE
static void changer(void) { live.values[50] = 1; } // RACE

int main(void) {
    together(saver, changer);
    use(snapshot.values[50]);
}
