// A detached thread still uses a global object when main returns and the global's
// destructor runs.
// expect: race
// shows: always
#include "../invisible.h"
#include <cstdlib>
#include <thread>

struct Registry {
    long entries = 0;
    ~Registry() { if (entries < 0) abort(); } // RACE
};

static Registry registry;

int main() {
    std::thread([] {
        registry.entries = 1;                // RACE
        invisible_step();
    }).detach();
    invisible_await(1);
}
