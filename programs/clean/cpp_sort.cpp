// std::sort on the two halves of one vector, then a merge.
#include <algorithm>
#include <cassert>
#include <thread>
#include <vector>

int main() {
    std::vector<unsigned> numbers(4001);
    unsigned seed = 1;
    for (auto &n : numbers) n = seed = seed * 1664525u + 1013904223u;
    auto middle = numbers.begin() + 2000;
    std::thread low([&] { std::sort(numbers.begin(), middle); });
    std::thread high([&] { std::sort(middle, numbers.end()); });
    low.join();
    high.join();
    std::vector<unsigned> sorted(numbers.size());
    std::merge(numbers.begin(), middle, middle, numbers.end(), sorted.begin());
    assert(std::is_sorted(sorted.begin(), sorted.end()));
}
