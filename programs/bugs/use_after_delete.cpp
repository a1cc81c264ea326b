// A field is read after another thread has deleted the object, without any order
// between the two.
// expect: heap-use-after-free
// shows: always
#include "../invisible.h"
#include <thread>

struct Shape { long width, height; };

int main() {
    Shape *shape = new Shape{1, 2};
    std::thread owner([&] {
        invisible_await(1);
        delete shape;                // RACE
        invisible_step();
    });
    std::thread user([&] {
        invisible_step();
        invisible_await(2);
        long height = shape->height; // RACE
        __asm__ volatile("" : : "r"(height));
    });
    owner.join();
    user.join();
}
