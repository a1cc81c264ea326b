// A mirror of web sites, after weblech: spiders share a queue and how many of them
// run, and who looks at that number does so without the lock.
// expect: race
// shows: sometimes
// harm: abort
#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

enum { PAGES = 12, SPIDERS = 3 };

static std::mutex lock;
static std::deque<int> queue;
static std::set<int> visited;
static int running, downloads;
static bool quit;

// The pages that a page links to.
static std::vector<int> links(int page) {
    std::vector<int> pages;
    for (int next : {2 * page + 1, 2 * page + 2})
        if (next < PAGES) pages.push_back(next);
    return pages;
}

static int take() {
    std::lock_guard<std::mutex> hold(lock);
    if (queue.empty()) throw std::runtime_error("NoSuchElementException");
    int page = queue.front();
    queue.pop_front();
    return page;
}

static bool is_empty() {
    std::lock_guard<std::mutex> hold(lock);
    return queue.empty();
}

static void spider() {
    while (!quit) {
        if (is_empty()) {
            if (running == 0) return; // nobody will find more pages
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            continue;
        }
        running++;
        int page = take(); // somebody may have been faster
        downloads++;
        {
            std::lock_guard<std::mutex> hold(lock);
            for (int next : links(page))
                if (visited.insert(next).second) queue.push_back(next);
        }
        running--;
    }
}

int main() {
    queue.push_back(0);
    visited.insert(0);
    std::vector<std::thread> spiders;
    for (int i = 0; i < SPIDERS; i++) spiders.emplace_back(spider);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    quit = true;
    for (auto &thread : spiders) thread.join();
    std::printf("%d pages\n", (int)visited.size());
}
