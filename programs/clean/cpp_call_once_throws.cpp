// std::call_once whose first attempt throws: the next caller tries again.
// tsan: hangs (an exception leaves its pthread_once locked)
#include <cassert>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>

static std::once_flag flag;
static int attempts, table;

static void build() {
    if (++attempts == 1) throw std::runtime_error("not yet");
    table = 42;
}

static void client() {
    for (;;) {
        try {
            std::call_once(flag, build);
            break;
        } catch (const std::runtime_error &) {
        }
    }
    if (table != 42) abort();
}

int main() {
    std::thread a(client), b(client), c(client);
    a.join();
    b.join();
    c.join();
    assert(attempts == 2);
}
