// Every mutex of the C++ library with the guards that fit it.
#include <cassert>
#include <chrono>
#include <mutex>
#include <thread>

static std::mutex plain;
static std::recursive_mutex recursive;
static std::timed_mutex timed;
static std::recursive_timed_mutex recursive_timed;
static int a, b, c, d, both;

static void work() {
    using namespace std::chrono_literals;
    for (int i = 0; i < 50; i++) {
        {
            std::lock_guard<std::mutex> guard(plain);
            a++;
        }
        {
            std::lock_guard<std::recursive_mutex> outer(recursive);
            std::lock_guard<std::recursive_mutex> inner(recursive);
            b++;
        }
        {
            std::unique_lock<std::timed_mutex> guard(timed, std::defer_lock);
            while (!guard.try_lock()) std::this_thread::yield();
            c++;
        }
        {
            std::unique_lock<std::recursive_timed_mutex> outer(recursive_timed);
            std::unique_lock<std::recursive_timed_mutex> inner(recursive_timed, std::try_to_lock);
            d++;
        }
        {
            std::scoped_lock guard(plain, timed); // avoids deadlock by itself
            both++;
        }
    }
}

int main() {
    std::thread x(work), y(work);
    x.join();
    y.join();
    assert(a == 100 && b == 100 && c == 100 && d == 100 && both == 100);
}
