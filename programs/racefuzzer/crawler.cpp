// A crawler of meta pages, after hedc: a task that takes too long is cancelled, and
// its thread is forgotten while the task still looks whom to tell.
// expect: race
// shows: sometimes
// harm: abort
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::function<void()>> tasks;
    bool closed = false;
    std::vector<std::thread> threads;

    void serve() {
        for (;;) {
            std::function<void()> task;
            {
                std::unique_lock<std::mutex> hold(lock);
                changed.wait(hold, [this] { return closed || !tasks.empty(); });
                if (tasks.empty()) return;
                task = std::move(tasks.front());
                tasks.pop_front();
            }
            task();
        }
    }

public:
    explicit Pool(int count) {
        for (int i = 0; i < count; i++) threads.emplace_back([this] { serve(); });
    }

    void submit(std::function<void()> task) {
        std::lock_guard<std::mutex> hold(lock);
        tasks.push_back(std::move(task));
        changed.notify_one();
    }

    void close() {
        {
            std::lock_guard<std::mutex> hold(lock);
            closed = true;
            changed.notify_all();
        }
        for (auto &thread : threads) thread.join();
    }
};

struct Worker {
    int interrupts = 0;
    void interrupt() { interrupts++; }
};

// One request to a site. Whoever waits for it may cancel it.
struct Request {
    std::mutex lock;
    Worker *worker = nullptr;
    bool done = false;
    int answer = 0;

    void run(int site) {
        static thread_local Worker mine;
        worker = &mine;
        int found = 0;
        for (int i = 0; i < 50; i++) found += site * i % 7;
        std::lock_guard<std::mutex> hold(lock);
        answer = found;
        done = true;
        worker = nullptr;
    }

    void cancel() {
        if (worker != nullptr) {
            Worker *found = worker;
            if (found == nullptr) throw std::runtime_error("NullPointerException");
            found->interrupt();
        }
    }

    bool is_done() {
        std::lock_guard<std::mutex> hold(lock);
        return done;
    }
};

int main() {
    std::vector<std::unique_ptr<Request>> requests;
    for (int i = 0; i < 3; i++) requests.push_back(std::make_unique<Request>());
    Pool pool(2);
    for (int i = 0; i < 3; i++) pool.submit([&requests, i] { requests[i]->run(i + 1); });
    for (int round = 0; round < 3; round++)
        for (auto &request : requests)
            if (!request->is_done()) request->cancel();
    pool.close();
}
