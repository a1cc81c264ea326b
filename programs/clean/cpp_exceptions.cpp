// Exceptions unwind through locked frames in several threads, and travel to main in
// an exception_ptr.
#include <cassert>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

static std::mutex lock;
static int unwound;

struct Counts {
    ~Counts() {
        std::lock_guard<std::mutex> guard(lock);
        unwound++;
    }
};

static void dig(int depth) {
    Counts on_the_way_out;
    if (depth == 0) throw std::runtime_error("bottom");
    dig(depth - 1);
}

int main() {
    std::exception_ptr caught[3];
    std::thread threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = std::thread([&caught, i] {
            try {
                dig(9);
            } catch (...) {
                caught[i] = std::current_exception();
            }
        });
    for (auto &thread : threads) thread.join();
    for (auto &exception : caught) {
        try {
            std::rethrow_exception(exception);
        } catch (const std::runtime_error &error) {
            assert(error.what() == std::string("bottom"));
        }
    }
    assert(unwound == 30);
}
