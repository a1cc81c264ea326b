// Since C++11 a static local variable is initialised once, whoever comes first.
#include <cassert>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

struct Registry {
    std::string name = "a name that is too long for the small string buffer";
    std::vector<int> numbers{1, 2, 3};
};

static const Registry &registry() {
    static const Registry instance;
    return instance;
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([] {
            if (registry().numbers.size() != 3 || registry().name.empty()) abort();
        });
    for (auto &thread : threads) thread.join();
}
