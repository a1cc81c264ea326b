/*
 * Small objects: maps, strings and shared pointers come and go in every thread,
 * and so do many small pieces of memory.
 */
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness.h"

namespace {

struct Person {
    std::string name;
    std::vector<std::shared_ptr<Person>> friends;
};

uint64_t sums[MOST_THREADS];

std::string name(uint64_t number) {
    return "person " + std::to_string(number) + " of a town with a long name";
}

uint64_t meet(uint64_t &random) {
    std::map<std::string, std::shared_ptr<Person>> town;
    for (int i = 0; i < 60; i++) {
        auto person = std::make_shared<Person>();
        person->name = name(next_random(&random) % 1000);
        if (!town.empty())
            person->friends.push_back(town.begin()->second);
        town[person->name] = person;
    }
    std::unordered_map<std::string, uint64_t> popularity;
    for (const auto &entry : town)
        for (const auto &other : entry.second->friends)
            popularity[other->name] += other->name.size();
    uint64_t sum = town.size();
    for (const auto &entry : popularity)
        sum += entry.second * entry.first.size();
    return sum;
}

void work(int me) {
    uint64_t random = seed(me), sum = 0;
    for (long i = 0; i < scaled(8000) / threads; i++)
        sum = sum * 31 + meet(random);
    sums[me] = sum;
}

} // namespace

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    in_threads(work);
    uint64_t sum = 0;
    for (int i = 0; i < threads; i++)
        sum = sum * 31 + sums[i];
    return print_checksum(sum);
}
