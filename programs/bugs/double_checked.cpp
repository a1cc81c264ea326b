// Double-checked locking without atomics: the first check races with the
// assignment under the lock.
// expect: race
// shows: always
#include <mutex>
#include <thread>

struct Config { int level = 3; };

static Config *config;
static std::mutex lock;

static Config *get() {
    if (config == nullptr) {                     // RACE
        std::lock_guard<std::mutex> guard(lock);
        if (config == nullptr)
            config = new Config;                 // RACE
    }
    return config;                               // RACE
}

int main() {
    std::thread a(get), b(get);
    a.join();
    b.join();
    delete config;
}
