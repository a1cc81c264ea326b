// A thread pool: tasks go through a locked queue, results come back in futures.
#include <cassert>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

class Pool {
    std::mutex lock;
    std::condition_variable changed;
    std::queue<std::function<void()>> tasks;
    std::vector<std::thread> workers;
    bool closing = false;

    void work() {
        for (;;) {
            std::function<void()> task;
            {
                std::unique_lock<std::mutex> guard(lock);
                changed.wait(guard, [this] { return closing || !tasks.empty(); });
                if (tasks.empty()) return;
                task = std::move(tasks.front());
                tasks.pop();
            }
            task();
        }
    }

public:
    explicit Pool(int size) {
        for (int i = 0; i < size; i++) workers.emplace_back([this] { work(); });
    }
    ~Pool() {
        {
            std::lock_guard<std::mutex> guard(lock);
            closing = true;
        }
        changed.notify_all();
        for (auto &worker : workers) worker.join();
    }
    std::future<int> submit(std::function<int()> function) {
        auto task = std::make_shared<std::packaged_task<int()>>(std::move(function));
        std::lock_guard<std::mutex> guard(lock);
        tasks.push([task] { (*task)(); });
        changed.notify_one();
        return task->get_future();
    }
};

int main() {
    Pool pool(3);
    std::vector<std::future<int>> results;
    for (int i = 0; i < 100; i++) results.push_back(pool.submit([i] { return i * i; }));
    int sum = 0;
    for (auto &result : results) sum += result.get();
    assert(sum == 328350);
}
