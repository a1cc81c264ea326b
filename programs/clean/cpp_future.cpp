// promise and future, packaged_task, async, shared_future.
#include <cassert>
#include <future>
#include <thread>
#include <vector>

int main() {
    std::promise<std::vector<int>> promise;
    std::thread maker([&] { promise.set_value({1, 2, 3}); });
    assert(promise.get_future().get().size() == 3);
    maker.join();

    std::packaged_task<int(int)> square([](int n) { return n * n; });
    std::future<int> squared = square.get_future();
    std::thread runner(std::move(square), 7);
    assert(squared.get() == 49);
    runner.join();

    int data = 0;
    std::shared_future<void> ready = std::async(std::launch::async, [&] { data = 42; }).share();
    auto look = [&, ready] {
        ready.wait();
        return data;
    };
    auto first = std::async(std::launch::async, look);
    auto second = std::async(std::launch::async, look);
    assert(first.get() == 42 && second.get() == 42);
}
