/*
 * Producers and consumers: batches of numbers go through a bounded queue with a
 * mutex and two condition variables.
 */
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "harness.h"

namespace {

using Batch = std::vector<uint64_t>;

class Queue {
public:
    void put(Batch batch) {
        std::unique_lock<std::mutex> guard(lock);
        room.wait(guard, [&] { return batches.size() < 64; });
        batches.push_back(std::move(batch));
        news.notify_one();
    }
    /* An empty batch says that there will be no more. */
    Batch take() {
        std::unique_lock<std::mutex> guard(lock);
        news.wait(guard, [&] { return !batches.empty(); });
        Batch batch = std::move(batches.front());
        batches.pop_front();
        room.notify_one();
        return batch;
    }

private:
    std::mutex lock;
    std::condition_variable room, news;
    std::deque<Batch> batches;
};

Queue queue;
uint64_t sums[MOST_THREADS];

void produce(int me) {
    uint64_t random = seed(me);
    for (long i = 0; i < scaled(120000) / (threads / 2); i++) {
        Batch batch(64);
        for (uint64_t &number : batch)
            number = next_random(&random);
        queue.put(std::move(batch));
    }
    queue.put({});
}

void consume(int me) {
    uint64_t sum = 0;
    for (Batch batch = queue.take(); !batch.empty(); batch = queue.take())
        for (int round = 0; round < 16; round++)
            for (uint64_t &number : batch) {
                number = (number ^ (number >> 29)) * 0xbf58476d1ce4e5b9u;
                sum += number;
            }
    sums[me] = sum;
}

void work(int me) { me % 2 == 0 ? produce(me) : consume(me); }

} // namespace

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    threads += threads % 2;
    in_threads(work);
    uint64_t sum = 0;
    for (int i = 0; i < threads; i++)
        sum += sums[i];
    return print_checksum(sum);
}
