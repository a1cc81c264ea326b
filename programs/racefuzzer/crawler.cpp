// A crawler of meta pages, after hedc: a request has tasks done by a pool, waits until
// all are done or its time is up, and then cancels them. What a task does last, it does
// without the lock: it forgets its thread, and tells the request that is taken from it.
// expect: race
// shows: sometimes
// harm: abort
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

using Milliseconds = std::chrono::milliseconds;

class Pool {
    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::function<void()>> tasks;
    bool closed = false;
    std::vector<std::thread> threads;
    std::exception_ptr thrown;

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
            try {
                task();
            } catch (...) {
                std::lock_guard<std::mutex> hold(lock);
                thrown = std::current_exception();
            }
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

    // As in Java, what a task throws ends the task; here, in the end, the program.
    void close() {
        {
            std::lock_guard<std::mutex> hold(lock);
            closed = true;
            changed.notify_all();
        }
        for (auto &thread : threads) thread.join();
        if (thrown) std::rethrow_exception(thrown);
    }
};

// Somebody who can be interrupted while it waits.
class Sleeper {
    std::mutex lock;
    std::condition_variable woken;
    bool interrupted = false;

public:
    void interrupt() {
        std::lock_guard<std::mutex> hold(lock);
        interrupted = true;
        woken.notify_all();
    }

    void sleep(int milliseconds) {
        std::unique_lock<std::mutex> hold(lock);
        woken.wait_for(hold, Milliseconds(milliseconds), [this] { return interrupted; });
    }
};

// A request waits for its tasks.
class Request {
    std::mutex lock;
    int left;

public:
    Sleeper waits;

    explicit Request(int tasks) : left(tasks) {}

    void count_down() {
        std::lock_guard<std::mutex> hold(lock);
        if (--left == 0) waits.interrupt();
    }
};

// What is asked of one site.
class Task {
    std::mutex lock;
    Sleeper *worker = nullptr;
    Request *request;
    bool valid = true;
    int delay;

public:
    Task(Request *request, int delay) : request(request), delay(delay) {}

    void run(Sleeper &mine) {
        {
            std::lock_guard<std::mutex> hold(lock);
            if (!valid) return;
            worker = &mine;
        }
        mine.sleep(delay); // until the site has answered
        worker = nullptr;
        if (request == nullptr) throw std::runtime_error("NullPointerException");
        request->count_down();
    }

    void cancel() {
        std::lock_guard<std::mutex> hold(lock);
        if (worker != nullptr) worker->interrupt();
        request = nullptr;
        valid = false;
    }
};

static void search(Pool &pool) {
    enum { PATIENCE = 20 };
    static std::vector<std::shared_ptr<void>> kept; // where garbage is collected, later
    static std::mutex keeping;
    const int delays[] = {1, 2, 3};
    auto request = std::make_shared<Request>(3);
    std::vector<std::shared_ptr<Task>> tasks;
    for (int delay : delays) tasks.push_back(std::make_shared<Task>(request.get(), delay));
    {
        std::lock_guard<std::mutex> hold(keeping);
        kept.push_back(request);
    }
    for (auto &task : tasks)
        pool.submit([task] {
            auto mine = std::make_shared<Sleeper>();
            task->run(*mine);
        });
    request->waits.sleep(PATIENCE);
    for (auto &task : tasks) task->cancel();
}

int main() {
    Pool pool(4);
    std::vector<std::thread> testers;
    for (int i = 0; i < 2; i++)
        testers.emplace_back([&pool] {
            for (int j = 0; j < 2; j++) search(pool);
        });
    for (auto &tester : testers) tester.join();
    pool.close();
}
