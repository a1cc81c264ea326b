// push_back may move the elements of a vector that another thread is reading.
// expect: race
// shows: always
#include "../invisible.h"
#include <thread>
#include <vector>

int main() {
    std::vector<long> numbers(4, 7);
    std::thread reader([&] {
        volatile long seen = numbers[2]; // RACE
        (void)seen;
        invisible_step();
    });
    std::thread writer([&] {
        invisible_await(1);
        numbers.push_back(8);            // RACE
    });
    reader.join();
    writer.join();
}
