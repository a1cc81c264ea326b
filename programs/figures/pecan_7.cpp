// pecan.txt Figure 7: Jigsaw's event queue. Each call on the queue is locked, the
// three together are not: two threads may both find it non-empty, and then both
// take the same event, or one of them takes from an empty queue. No race, but an
// atomicity violation.
// expect: atomicity
// shows: never
// harm: abort
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

class Vector { // java.util.Vector: every method is synchronized, and there is room for ten
    std::mutex monitor;
    std::vector<int> items;

public:
    Vector() { items.reserve(10); }
    size_t size() {
        std::lock_guard<std::mutex> synchronized(monitor);
        return items.size();                  // 1: HERE
    }
    int elementAt(size_t i) {
        std::lock_guard<std::mutex> synchronized(monitor);
        return items.at(i);                   // 2: HERE
    }
    void removeElementAt(size_t i) {
        std::lock_guard<std::mutex> synchronized(monitor);
        if (i >= items.size()) throw std::out_of_range("ArrayIndexOutOfBounds");
        items.erase(items.begin() + long(i)); // 3: HERE
    }
    void add(int item) {
        std::lock_guard<std::mutex> synchronized(monitor);
        items.push_back(item);
    }
};

static Vector queue;

static int getNextEvent() {
    while (queue.size() == 0)                 // 1
        std::this_thread::yield();
    int e = queue.elementAt(0);               // 2
    queue.removeElementAt(0);                 // 3
    return e;
}

static std::atomic<int> handled[3];

static void handleOne() {
    if (handled[getNextEvent()]++) throw std::logic_error("handled twice");
}

static void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

int main() {
    queue.add(1);
    std::thread first(handleOne);
    std::thread second([] {
        nap();
        nap();
        handleOne();
    });
    nap();
    queue.add(2);
    first.join();
    second.join();
}
