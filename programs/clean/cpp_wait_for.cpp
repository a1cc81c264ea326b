// wait_for and wait_until, which use pthread_cond_clockwait and timedwait.
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::condition_variable changed;
static int stage;

int main() {
    using namespace std::chrono;
    std::thread other([] {
        std::unique_lock<std::mutex> guard(lock);
        while (!changed.wait_for(guard, milliseconds(1), [] { return stage == 1; })) {}
        stage = 2;
        changed.notify_one();
    });
    {
        std::unique_lock<std::mutex> guard(lock);
        stage = 1;
        auto limit = system_clock::now() + seconds(60);
        assert(changed.wait_until(guard, limit, [] { return stage == 2; }));
    }
    other.join();
}
