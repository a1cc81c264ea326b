// std::thread: what was written before the start is seen by the thread, and what
// the thread wrote is seen after join.
#include <cassert>
#include <thread>
#include <vector>

int main() {
    std::vector<int> input(8), output(8);
    for (int i = 0; i < 8; i++) input[i] = i;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&, i] { output[i] = 2 * input[i]; });
    for (auto &thread : threads) thread.join();
    for (int i = 0; i < 8; i++) assert(output[i] == 2 * i);
}
