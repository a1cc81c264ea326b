// The promise is fulfilled before the result is complete.
// expect: race
// shows: always
#include "../invisible.h"
#include <future>
#include <thread>

int main() {
    long details = 0;
    std::promise<void> promise;
    std::future<void> future = promise.get_future();
    std::thread worker([&] {
        promise.set_value();
        details = 42;            // RACE
        invisible_step();
    });
    future.get();
    invisible_await(1);
    volatile long seen = details; // RACE
    (void)seen;
    worker.join();
}
