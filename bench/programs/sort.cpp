/*
 * Sorting: every thread sorts its part of an array by quicksort, and pairs of
 * parts are merged, by fewer threads each time.
 */
#include <algorithm>
#include <utility>
#include <vector>

#include "harness.h"

namespace {

std::vector<uint32_t> numbers, merged;
long width;

void quicksort(uint32_t *from, uint32_t *to) {
    while (to - from > 16) {
        uint32_t pivot = from[(to - from) / 2], *low = from, *high = to - 1;
        while (low <= high) {
            while (*low < pivot)
                low++;
            while (pivot < *high)
                high--;
            if (low <= high)
                std::swap(*low++, *high--);
        }
        quicksort(from, high + 1);
        from = low;
    }
    for (uint32_t *at = from + 1; at < to; at++)
        for (uint32_t *hole = at; hole > from && hole[0] < hole[-1]; hole--)
            std::swap(hole[0], hole[-1]);
}

long begin(long part) {
    long parts = std::min<long>(part, threads);
    return share(static_cast<long>(numbers.size()), static_cast<int>(parts));
}

void sort_part(int me) {
    quicksort(numbers.data() + begin(me), numbers.data() + begin(me + 1));
}

void merge_parts(int me) {
    if (me % (2 * width) != 0)
        return;
    long low = begin(me), middle = begin(me + width), end = begin(me + 2 * width);
    for (long left = low, right = middle, to = low; to < end; to++) {
        bool from_left = right == end || (left < middle && numbers[left] <= numbers[right]);
        merged[to] = numbers[from_left ? left++ : right++];
    }
}

} // namespace

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    uint64_t random = seed(0), sum = 0;
    numbers.resize(scaled(2400000));
    merged.resize(numbers.size());
    for (uint32_t &number : numbers)
        number = static_cast<uint32_t>(next_random(&random));
    in_threads(sort_part);
    for (width = 1; width < threads; width *= 2) {
        in_threads(merge_parts);
        numbers.swap(merged);
    }
    for (uint32_t number : numbers)
        sum = sum * 31 + number;
    return print_checksum(sum);
}
