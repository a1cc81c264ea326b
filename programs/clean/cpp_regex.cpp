// Clean: threads search with regular expressions of their own; libstdc++ fills in a table of
// characters on the way, each thread with the same.
// hunt: clean
#include <cassert>
#include <regex>
#include <string>
#include <thread>
#include <vector>

static void search(int me) {
    const std::regex pattern("[a-c]+" + std::to_string(me));
    std::smatch match;
    const std::string text = "xyz abc" + std::to_string(me);
    assert(std::regex_search(text, match, pattern));
    assert(match.position() == 4);
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back(search, i);
    for (std::thread &thread : threads)
        thread.join();
    return 0;
}
