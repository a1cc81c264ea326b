// Two threads format into one static buffer, as inet_ntoa and friends do.
// expect: race
// shows: always
#include "../threads.h"
#include <stdio.h>

static char buffer[32];

static NOINLINE const char *name_of(int number) {
    snprintf(buffer, sizeof buffer, "worker %d", number); // RACE
    return buffer;
}

static void one(void) { use(name_of(1)); }
static void two(void) { use(name_of(2)); }

int main(void) { together(one, two); }
