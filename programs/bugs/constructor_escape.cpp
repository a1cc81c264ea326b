// The constructor starts a thread on `this` before the object is finished.
// expect: race
// shows: always
#include <memory>
#include <thread>

struct Service {
    std::thread worker;
    long limit;

    Service() : worker(&Service::run, this) {
        limit = 10;                 // RACE
    }
    ~Service() { worker.join(); }

    void run() {
        volatile long seen = limit; // RACE
        (void)seen;
    }
};

int main() { std::make_unique<Service>(); }
