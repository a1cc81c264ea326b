// Two fields that belong together are updated one after the other: a reader may
// see the new width with the old height. No race.
// expect: atomic-set
// shows: never
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

class Window {
    std::mutex lock;
    int width = 10, height = 10;

public:
    void setWidth(int w) {
        std::lock_guard<std::mutex> guard(lock);
        width = w;                  // HERE
    }
    void setHeight(int h) {
        std::lock_guard<std::mutex> guard(lock);
        height = h;                 // HERE
    }
    int area() {
        std::lock_guard<std::mutex> guard(lock);
        return width * height;      // HERE
    }
};

int main() {
    Window window;
    std::thread resizer([&] {
        window.setWidth(20);
        window.setHeight(20);
    });
    int area = 0;
    std::thread reader([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        area = window.area();
    });
    resizer.join();
    reader.join();
    std::printf("%d\n", area);
    return area != 100 && area != 400; // it is always square
}
