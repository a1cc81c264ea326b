// A cache with a cleaner, after cache4j: whether the cleaner sleeps is told by a flag
// without a lock, and who wakes it while it only is about to sleep makes it fail.
// expect: race
// shows: sometimes
// harm: abort
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

struct Interrupted : std::runtime_error {
    Interrupted() : std::runtime_error("InterruptedException") {}
};

// A thread that can be interrupted while it sleeps, and before.
class Sleeper {
    std::mutex lock;
    std::condition_variable woken;
    bool interrupted = false;

public:
    void interrupt() {
        std::lock_guard<std::mutex> hold(lock);
        interrupted = true;
        woken.notify_all();
    }

    void sleep(int milliseconds) {
        std::unique_lock<std::mutex> hold(lock);
        woken.wait_for(hold, std::chrono::milliseconds(milliseconds), [this] { return interrupted; });
        if (interrupted) {
            interrupted = false;
            throw Interrupted();
        }
    }

    void test_interrupted() {
        std::lock_guard<std::mutex> hold(lock);
        if (interrupted) throw Interrupted();
    }
};

class Cache {
    std::mutex lock;
    std::map<int, std::string> objects;
    int hits = 0, misses = 0;

public:
    std::string get(int key) {
        std::lock_guard<std::mutex> hold(lock);
        auto found = objects.find(key);
        if (found == objects.end()) {
            misses++;
            return objects[key] = std::to_string(key);
        }
        hits++;
        return found->second;
    }

    void clean() {
        std::lock_guard<std::mutex> hold(lock);
        while (objects.size() > 4) objects.erase(objects.begin());
    }
};

static Cache cache;
static Sleeper sleeper;
static bool sleeping;        // _sleep of CacheCleaner.java
static int cleanings;

static void cleaner() {
    for (int i = 0; i < 3; i++) {
        cache.clean();
        cleanings++;
        sleeping = true;     // before the try block
        sleeper.test_interrupted();
        try {
            sleeper.sleep(10);
        } catch (Interrupted &) {
        }
        sleeping = false;
    }
}

static void user() {
    for (int i = 0; i < 8; i++) cache.get(i);
    if (sleeping) sleeper.interrupt();
    for (int i = 0; i < 4; i++) cache.get(i);
}

int main() {
    std::thread one(cleaner), two(user);
    one.join();
    two.join();
}
