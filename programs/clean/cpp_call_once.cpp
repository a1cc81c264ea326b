// std::call_once: everybody sees what the one call has built.
#include <cassert>
#include <cstdlib>
#include <mutex>
#include <thread>

static std::once_flag flag;
static int builds, table;

static void client() {
    std::call_once(flag, [] {
        builds++;
        table = 42;
    });
    if (table != 42) abort();
}

int main() {
    std::thread a(client), b(client), c(client);
    a.join();
    b.join();
    c.join();
    assert(builds == 1);
}
