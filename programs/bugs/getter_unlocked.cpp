// Every setter locks; the one getter that "only reads" does not.
// expect: race
// shows: always
#include <mutex>
#include <thread>

class Gauge {
    std::mutex lock;
    long level = 0;

public:
    void set(long value) {
        std::lock_guard<std::mutex> guard(lock);
        level = value;                     // RACE
    }
    long get() const { return level; }     // RACE
};

int main() {
    Gauge gauge;
    std::thread writer([&] { gauge.set(5); });
    std::thread reader([&] {
        volatile long seen = gauge.get();
        (void)seen;
    });
    writer.join();
    reader.join();
}
