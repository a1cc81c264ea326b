// pecan.txt Figure 7: Jigsaw's event queue. Each call on the queue is locked, the
// three together are not: two threads may both find it non-empty, and the
// second takes from an empty queue. No race, but an atomicity violation.
// expect: atomicity
// shows: never
// harm: abort
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

class Vector { // java.util.Vector: every method is synchronized
    std::mutex monitor;
    std::vector<int> items;

public:
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

int main() {
    queue.add(1);
    std::thread first(getNextEvent);
    std::thread second([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        queue.add(2);
        getNextEvent();
    });
    first.join();
    second.join();
}
