// A list and a tree are changed, gone through and taken apart by several threads, under a
// lock; others have containers of their own.
#include <algorithm>
#include <cassert>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

static std::mutex lock;
static std::list<int> order;
static std::map<int, std::list<int>::iterator> places;

static void use(int key) {
    std::lock_guard<std::mutex> guard(lock);
    auto known = places.find(key);
    if (known != places.end()) {
        order.splice(order.begin(), order, known->second);
        return;
    }
    order.push_front(key);
    places[key] = order.begin();
    if (order.size() > 20) {
        places.erase(order.back());
        order.pop_back();
    }
}

// What a tree does, held against a sorted vector.
static void own(unsigned seed) {
    std::set<unsigned> tree;
    std::vector<unsigned> sorted;
    for (int i = 0; i < 1000; i++) {
        seed = seed * 1103515245 + 12345;
        unsigned key = seed >> 16 & 63;
        auto at = std::lower_bound(sorted.begin(), sorted.end(), key);
        if (at != sorted.end() && *at == key) {
            sorted.erase(at);
            tree.erase(key);
        } else {
            sorted.insert(at, key);
            tree.insert(key);
        }
        assert(std::equal(tree.begin(), tree.end(), sorted.begin(), sorted.end()));
        assert(std::equal(tree.rbegin(), tree.rend(), sorted.rbegin(), sorted.rend()));
    }
    std::list<unsigned> one(sorted.begin(), sorted.end()), other{1};
    one.reverse();
    one.swap(other);
    other.sort();
    assert(one.size() == 1 && std::equal(other.begin(), other.end(), sorted.begin(), sorted.end()));
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back([i] {
            for (int k = 0; k < 60; k++) use(k * (i + 1) % 31);
            own(i);
        });
    for (auto &thread : threads) thread.join();
    assert(order.size() == places.size());
}
