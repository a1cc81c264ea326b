// std::timed_mutex with try_lock_for and try_lock_until; libstdc++ uses
// pthread_mutex_clocklock for the steady clock.
// tsan: false-alarm (gcc 12's does not intercept pthread_mutex_clocklock)
#include <cassert>
#include <chrono>
#include <mutex>
#include <thread>

static std::timed_mutex lock;
static int counter;

static void count() {
    using namespace std::chrono;
    for (int i = 0; i < 50; i++) {
        while (!lock.try_lock_for(seconds(10))) {}
        counter++;
        lock.unlock();
        while (!lock.try_lock_until(system_clock::now() + seconds(10))) {}
        counter++;
        lock.unlock();
    }
}

int main() {
    std::thread a(count), b(count);
    a.join();
    b.join();
    assert(counter == 200);
}
