// Results that are ready when their thread has ended, its thread-local objects included:
// the store that says so is inside the library.
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

static int written;

struct Last {
    int *where = nullptr;
    ~Last() {
        if (where)
            *where += 1;
    }
};
static thread_local Last last;

static void promised(std::promise<int> answer) {
    last.where = &written;
    written = 41;
    answer.set_value_at_thread_exit(1);
}

static std::mutex lock;
static std::condition_variable changed;
static bool ready;
static int told;

static void announce() {
    std::unique_lock<std::mutex> held(lock);
    ready = true;
    std::notify_all_at_thread_exit(changed, std::move(held));
    told = 5;
}

int main() {
    std::promise<int> answer;
    std::future<int> future = answer.get_future();
    std::thread first(promised, std::move(answer));
    int sum = future.get();
    sum += written;
    first.detach();

    std::thread second(announce);
    {
        std::unique_lock<std::mutex> held(lock);
        changed.wait(held, [] { return ready; });
        sum += told;
    }
    second.join();

    for (int i = 0; i < 3; i++) {
        std::packaged_task<int()> task([] { return ++written; });
        std::future<int> done = task.get_future();
        std::thread third([](std::packaged_task<int()> task) { task.make_ready_at_thread_exit(); },
                          std::move(task));
        sum += done.get();
        sum += written;
        third.join();
    }
    return sum != 1 + 42 + 5 + 2 * (43 + 44 + 45);
}
