// Elements of a list are moved to its front under a lock for reading only: the library
// changes the list for who reads, too.
// expect: race
// shows: always
// tsan: misses (links are changed in the library, which is not instrumented)
#include <list>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "../invisible.h"

static std::list<int> order{1, 2, 3, 4};
static const std::list<int>::iterator second = ++order.begin(), last = --order.end();
static std::shared_mutex lock;

static void first_user() {
    {
        std::shared_lock<std::shared_mutex> guard(lock);
        order.splice(order.begin(), order, second); // RACE
    }
    invisible_step();
}

static void other_user() {
    invisible_await(1);
    std::shared_lock<std::shared_mutex> guard(lock);
    order.splice(order.begin(), order, last); // RACE
}

int main() {
    std::thread a(first_user), b(other_user);
    a.join();
    b.join();
}
