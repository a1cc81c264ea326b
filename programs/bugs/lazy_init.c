// Initialise on first use, without a lock.
// expect: race
// shows: always
#include "../threads.h"

static int storage = 5;
static int *instance;

static NOINLINE int *get(void) {
    if (instance == NULL)    // RACE
        instance = &storage; // RACE
    return instance;         // RACE
}

static void client(void) { use(*get()); }

int main(void) { together(client, client); }
