// std::condition_variable and condition_variable_any, with predicates.
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>

static std::mutex lock;
static std::condition_variable filled;
static std::condition_variable_any emptied;
static std::queue<int> items;

int main() {
    long sum = 0;
    std::thread consumer([&] {
        for (int i = 0; i < 100; i++) {
            std::unique_lock<std::mutex> guard(lock);
            filled.wait(guard, [] { return !items.empty(); });
            sum += items.front();
            items.pop();
            emptied.notify_one();
        }
    });
    for (int i = 0; i < 100; i++) {
        std::unique_lock<std::mutex> guard(lock);
        emptied.wait(guard, [] { return items.size() < 5; });
        items.push(i);
        filled.notify_all();
    }
    consumer.join();
    assert(sum == 4950);
}
