// A mirror of web sites, after weblech: spiders share a queue and how many of them
// load a page, and who looks at that number does so without the lock.
// expect: race
// shows: sometimes
// harm: abort
#include <chrono>
#include <cstdio>
#include <deque>
#include <exception>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

enum { PAGES = 12, SPIDERS = 3 };

static std::mutex lock;
static std::deque<int> queue;
static std::set<int> visited;
static int running;
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
    running++;
    return page;
}

static int queued() {
    std::lock_guard<std::mutex> hold(lock);
    return queue.size();
}

static void spider() {
    while (queued() > 0 || running > 0) {
        if (quit) return;
        if (queued() == 0) { // others may find more pages
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            continue;
        }
        int page = take(); // somebody may have been faster
        std::this_thread::sleep_for(std::chrono::milliseconds(2)); // it is loaded
        std::lock_guard<std::mutex> hold(lock);
        for (int next : links(page))
            if (visited.insert(next).second) queue.push_back(next);
        running--;
    }
}

int main() {
    queue.push_back(0);
    visited.insert(0);
    std::vector<std::thread> spiders;
    std::vector<std::exception_ptr> thrown(SPIDERS);
    for (int i = 0; i < SPIDERS; i++)
        spiders.emplace_back([&mine = thrown[i]] {
            try {
                spider();
            } catch (...) {
                mine = std::current_exception();
            }
        });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    quit = true;
    for (auto &thread : spiders) thread.join();
    // As in Java, what a spider throws ends it; here, in the end, the program.
    for (auto &mine : thrown)
        if (mine) std::rethrow_exception(mine);
    std::printf("%d pages\n", (int)visited.size());
}
