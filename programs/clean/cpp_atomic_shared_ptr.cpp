// std::atomic_load and atomic_store of one shared_ptr that several threads use.
#include <cstdlib>
#include <memory>
#include <thread>

static std::shared_ptr<const int> current = std::make_shared<const int>(0);

int main() {
    std::thread writer([] {
        for (int i = 1; i <= 100; i++) std::atomic_store(&current, std::make_shared<const int>(i));
    });
    auto read = [] {
        int last = 0;
        for (int i = 0; i < 100; i++) {
            std::shared_ptr<const int> seen = std::atomic_load(&current);
            if (*seen < last) abort();
            last = *seen;
        }
    };
    std::thread one(read), two(read);
    writer.join();
    one.join();
    two.join();
}
