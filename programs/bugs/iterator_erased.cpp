// An iterator is kept while the lock is given up: its element is erased meanwhile. Going on
// from there is the library's work.
// expect: heap-use-after-free
// shows: always
// tsan: misses (the library, which is not instrumented, goes on to the next element)
#include <map>
#include <mutex>
#include <thread>

#include "../invisible.h"

static std::map<int, int> sessions{{1, 10}, {2, 20}, {3, 30}};
static std::mutex lock;

static void count() {
    std::unique_lock<std::mutex> guard(lock);
    for (auto at = sessions.begin(); at != sessions.end(); ++at) { // RACE
        if (at->first != 2) continue;
        guard.unlock();
        invisible_step();
        invisible_await(2);
        guard.lock();
    }
}

static void erase() {
    invisible_await(1);
    {
        std::lock_guard<std::mutex> guard(lock);
        sessions.erase(2); // RACE
    }
    invisible_step();
}

int main() {
    std::thread a(count), b(erase);
    a.join();
    b.join();
}
