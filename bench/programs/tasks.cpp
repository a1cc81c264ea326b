/*
 * A pool of tasks with atomics: threads take intervals from rings of their own and
 * steal from each other's; large intervals are split, small ones are worked off.
 */
#include <atomic>
#include <memory>

#include "harness.h"

namespace {

constexpr uint32_t RING = 64;

struct Interval {
    uint32_t from, to;
};

/* A ring of tasks guarded by a spin lock made of one atomic flag. */
class Ring {
public:
    bool push(Interval task) {
        Guard guard(*this);
        if (last - first == RING)
            return false;
        tasks[last++ % RING] = task;
        return true;
    }
    bool pop(Interval &task) {
        Guard guard(*this);
        if (last == first)
            return false;
        task = tasks[--last % RING];
        return true;
    }
    bool steal(Interval &task) {
        if (size.load(std::memory_order_relaxed) == 0)
            return false;
        Guard guard(*this);
        if (last == first)
            return false;
        task = tasks[first++ % RING];
        return true;
    }

private:
    struct Guard {
        explicit Guard(Ring &ring) : ring(ring) {
            while (ring.busy.exchange(true, std::memory_order_acquire))
                sched_yield();
        }
        ~Guard() {
            ring.size.store(ring.last - ring.first, std::memory_order_relaxed);
            ring.busy.store(false, std::memory_order_release);
        }
        Ring &ring;
    };

    std::atomic<bool> busy{false};
    std::atomic<uint32_t> size{0};
    uint32_t first = 0, last = 0;
    Interval tasks[RING];
};

Ring rings[MOST_THREADS];
std::atomic<uint64_t> total{0};
std::atomic<uint32_t> left{0};

/* How many steps of Collatz's sequence lead to 1. */
uint32_t steps(uint64_t number) {
    uint32_t steps = 0;
    for (; number != 1; steps++)
        number = number % 2 == 0 ? number / 2 : number * 3 + 1;
    return steps;
}

void execute(Ring &own, Interval task) {
    while (task.to - task.from > 8) {
        uint32_t middle = task.from + (task.to - task.from) / 2;
        if (!own.push({middle, task.to}))
            break;
        task.to = middle;
    }
    uint64_t sum = 0;
    for (uint32_t number = task.from; number < task.to; number++)
        sum += steps(number) * static_cast<uint64_t>(number);
    total.fetch_add(sum, std::memory_order_relaxed);
    left.fetch_sub(task.to - task.from, std::memory_order_release);
}

void work(int me) {
    while (left.load(std::memory_order_acquire) > 0) {
        Interval task;
        bool found = rings[me].pop(task);
        for (int i = 1; !found && i < threads; i++)
            found = rings[(me + i) % threads].steal(task);
        if (found)
            execute(rings[me], task);
        else
            sched_yield();
    }
}

} // namespace

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    uint32_t numbers = static_cast<uint32_t>(scaled(1200000));
    left = numbers;
    rings[0].push({1, numbers + 1});
    in_threads(work);
    return print_checksum(total);
}
