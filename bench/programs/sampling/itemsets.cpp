/*
 * Frequent sets of items: all threads go through the transactions and count items and
 * pairs in tables that they share, as programs do that were made parallel by marking a
 * loop. Every table is raced on.
 */
#include <algorithm>
#include <vector>

#include "../harness.h"

static const int ITEMS = 256, TRANSACTIONS = 12000;

struct Node {
    int item, count;
    Node *next, *child;
};

static std::vector<int> transactions[TRANSACTIONS];
static int counts[ITEMS], supports[ITEMS], longest, shortest = 1 << 30;
static long pairs[64], scanned, pruned;
static Node *heads[ITEMS];

FUNCTION void count_items(const std::vector<int> &items) {
    for (int item : items)
        counts[item]++;
    scanned++;
}

FUNCTION void count_pairs(const std::vector<int> &items) {
    for (size_t i = 0; i + 1 < items.size(); i++)
        pairs[(items[i] * 31 + items[i + 1]) % 64]++;
}

FUNCTION void note_length(const std::vector<int> &items) {
    int length = static_cast<int>(items.size());
    if (length > longest) longest = length;
    if (length < shortest) shortest = length;
}

FUNCTION int support(int item) {
    if (supports[item] == 0) supports[item] = counts[item] / 2 + 1;
    return supports[item];
}

FUNCTION int prune(const std::vector<int> &items) {
    int kept = 0;
    for (int item : items)
        kept += counts[item] >= support(item);
    if (kept == 0) pruned++;
    return kept;
}

FUNCTION void insert(int item) {
    Node *node = heads[item];
    if (node == nullptr) {
        node = new Node{item, 0, nullptr, nullptr};
        heads[item] = node;
    }
    node->count++;
}

FUNCTION void link(int item, int below) {
    Node *node = heads[item], *child = heads[below];
    if (node != nullptr && child != nullptr && node->child == nullptr) node->child = child;
}

FUNCTION void transaction(long i, bool second) {
    const std::vector<int> &items = transactions[i];
    if (!second) {
        count_items(items);
        note_length(items);
        return;
    }
    count_pairs(items);
    if (prune(items) > 0) {
        insert(items[0]);
        link(items[0], items[1]);
    }
}

static void work(int me) {
    for (long round = 0; round < scaled(4); round++)
        for (long i = share(TRANSACTIONS, me); i < share(TRANSACTIONS, me + 1); i++)
            transaction(i, round > 1);
}

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    uint64_t random = 5;
    for (auto &items : transactions) {
        items.resize(8 + next_random(&random) % 24);
        for (int &item : items)
            item = static_cast<int>(next_random(&random) % 16 * (next_random(&random) % 16));
    }
    in_threads(work);
    printf("%d\n", scanned > 0);
    return 0;
}
