// A thread waits for work until it is asked to stop, in a critical section in which the
// library uses locks of its own.
// flags: -std=c++20
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <queue>
#include <stop_token>
#include <thread>

int main() {
    std::mutex lock;
    std::condition_variable_any changed;
    std::queue<int> work;
    int sum = 0;
    std::jthread worker([&](std::stop_token stop) {
        std::unique_lock<std::mutex> guard(lock);
        while (changed.wait(guard, stop, [&] { return !work.empty(); })) {
            sum += work.front();
            work.pop();
        }
    });
    for (int i = 1; i <= 2; i++) {
        {
            std::lock_guard<std::mutex> guard(lock);
            work.push(i);
        }
        changed.notify_one();
    }
    worker.request_stop();
    worker.join();
    std::puts("stopped");
}
