// thread_local objects with constructors and destructors, one per thread.
#include <atomic>
#include <cassert>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> alive{0}, made{0};

struct Scratch {
    std::string text;
    Scratch() { alive++, made++; }
    ~Scratch() { alive--; }
};

static thread_local Scratch scratch;

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; i++)
        threads.emplace_back([i] { scratch.text.append(100, char('a' + i)); });
    for (auto &thread : threads) thread.join();
    assert(made == 6 && alive == 0);
}
