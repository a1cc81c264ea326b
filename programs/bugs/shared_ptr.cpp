// The counts of a shared_ptr are atomic, the pointer itself is not: one thread
// copies it while another resets it.
// expect: race
// shows: always
#include "../invisible.h"
#include <memory>
#include <thread>

int main() {
    auto shared = std::make_shared<int>(1);
    auto keep = shared; // the object outlives the race
    std::thread copier([&] {
        std::shared_ptr<int> copy = shared; // RACE
        invisible_step();
    });
    std::thread resetter([&] {
        invisible_await(1);
        shared.reset();                     // RACE
    });
    copier.join();
    resetter.join();
}
