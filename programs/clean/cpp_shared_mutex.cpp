// std::shared_mutex: many readers or one writer.
#include <cassert>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

static std::shared_mutex lock;
static std::vector<int> log_lines;

int main() {
    std::thread writer([] {
        for (int i = 0; i < 100; i++) {
            std::unique_lock<std::shared_mutex> guard(lock);
            log_lines.push_back(i);
        }
    });
    auto read = [] {
        for (int i = 0; i < 100; i++) {
            std::shared_lock<std::shared_mutex> guard(lock);
            if (!log_lines.empty() && log_lines.back() != int(log_lines.size()) - 1) abort();
        }
    };
    std::thread one(read), two(read);
    writer.join();
    one.join();
    two.join();
    assert(log_lines.size() == 100);
}
