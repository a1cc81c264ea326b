// HashSet of Table 1: containsAll and addAll go through a set that another thread
// changes.
// expect: race
// shows: sometimes
// harm: abort
#include "synchronised.h"

class HashSet : public Set<HashSet> {
    enum { BUCKETS = 8 };
    struct Entry {
        int value;
        Entry *next;
    };
    Entry *table[BUCKETS] = {};
    int count = 0, modifications = 0;

public:
    bool add(int value) {
        if (contains(value)) return false;
        Entry *&bucket = table[value % BUCKETS];
        bucket = new Entry{value, bucket};
        count++;
        modifications++;
        return true;
    }

    bool contains(int value) {
        for (Entry *entry = table[value % BUCKETS]; entry; entry = entry->next)
            if (entry->value == value) return true;
        return false;
    }

    bool remove(int value) {
        for (Entry **at = &table[value % BUCKETS]; *at; at = &(*at)->next) {
            if ((*at)->value != value) continue;
            modifications++;
            count--;
            *at = (*at)->next;
            return true;
        }
        return false;
    }

    void clear() {
        modifications++;
        for (auto &bucket : table) bucket = nullptr;
        count = 0;
    }

    int size() { return count; }

    class Iterator {
        HashSet &set;
        int bucket = 0, expected;
        Entry *following = nullptr;

        void advance() {
            while (!following && bucket < BUCKETS) following = set.table[bucket++];
        }

    public:
        explicit Iterator(HashSet &s) : set(s), expected(s.modifications) { advance(); }
        bool has_next() { return following != nullptr; }
        int next() {
            if (set.modifications != expected) throw ConcurrentModification();
            if (!following) throw NoSuchElement();
            int value = following->value;
            following = following->next;
            advance();
            return value;
        }
    };
};

int main() {
    return drive<HashSet>(3000);
}
