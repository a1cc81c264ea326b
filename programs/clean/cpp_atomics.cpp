// Atomics of every size, 1 to 8 bytes, with every read-modify-write operation.
#include <atomic>
#include <cassert>
#include <cstdint>
#include <thread>

template <typename T> static void exercise() {
    std::atomic<T> sum{0}, bits{0}, swaps{0}, cas{0};
    auto work = [&] {
        for (int i = 0; i < 50; i++) {
            sum.fetch_add(1);
            sum.fetch_sub(1, std::memory_order_acq_rel);
            sum++;
            bits.fetch_or(T(1 << (i % 7)));
            bits.fetch_and(T(0x7f), std::memory_order_release);
            bits.fetch_xor(0, std::memory_order_acquire);
            swaps.exchange(T(i), std::memory_order_relaxed);
            T old = cas.load(std::memory_order_relaxed);
            while (!cas.compare_exchange_weak(old, T(old + 1), std::memory_order_acq_rel,
                                              std::memory_order_relaxed)) {}
        }
    };
    std::thread a(work), b(work);
    a.join();
    b.join();
    assert(sum == 100 && cas == 100 && bits == 0x7f);
}

int main() {
    exercise<uint8_t>();
    exercise<uint16_t>();
    exercise<uint32_t>();
    exercise<uint64_t>();
}
