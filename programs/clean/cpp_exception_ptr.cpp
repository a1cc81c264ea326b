// An exception that several threads have: one throws it, others throw it once more, and the
// last one who lets go of it destroys it. The library counts them where nobody sees it.
// tsan: false-alarm (it does not see that count)
#include <cassert>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Failure : std::exception {
    std::vector<int> details;
    explicit Failure(int first) : details(3, first) {}
    ~Failure() override { details.clear(); }
};

static std::exception_ptr fails(int first) {
    try {
        throw Failure(first);
    } catch (Failure &failure) {
        std::exception_ptr kept = std::current_exception();
        failure.details.push_back(4);
        return kept;
    }
}

static size_t looks(std::exception_ptr kept) {
    try {
        std::rethrow_exception(std::move(kept));
    } catch (const Failure &failure) {
        return failure.details.size();
    }
}

int main() {
    for (int round = 0; round < 3; round++) {
        std::promise<int> promise;
        std::future<int> future = promise.get_future();
        std::thread thrower([promise = std::move(promise)]() mutable {
            try {
                throw Failure(1);
            } catch (...) {
                promise.set_exception(std::current_exception());
            }
        });
        size_t seen = 0;
        try {
            future.get();
        } catch (const Failure &failure) {
            seen = failure.details.size();
        }
        thrower.join();
        assert(seen == 3);

        std::exception_ptr shared = fails(2);
        std::thread first([shared] { assert(looks(shared) == 4); });
        std::thread second([shared = std::move(shared)]() mutable {
            assert(looks(std::move(shared)) == 4);
        });
        first.join();
        second.join();
    }
}
