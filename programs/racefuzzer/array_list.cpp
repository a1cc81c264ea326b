// ArrayList of Table 1: containsAll and equals go through a list that another thread
// changes. It is an array that grows.
// expect: race
// shows: sometimes
// harm: abort
#include "synchronised.h"

class ArrayList : public List<ArrayList> {
    int *elements = new int[8];
    int capacity = 8, count = 0, modifications = 0;

public:
    bool add(int value) {
        if (count == capacity) {
            int *larger = new int[2 * capacity];
            for (int i = 0; i < count; i++) larger[i] = elements[i];
            elements = larger;
            capacity *= 2;
        }
        elements[count++] = value;
        modifications++;
        return true;
    }

    bool contains(int value) {
        for (int i = 0; i < count; i++)
            if (elements[i] == value) return true;
        return false;
    }

    bool remove(int value) {
        for (int i = 0; i < count; i++) {
            if (elements[i] != value) continue;
            modifications++;
            for (int j = i + 1; j < count; j++) elements[j - 1] = elements[j];
            count--;
            return true;
        }
        return false;
    }

    // Takes a copy that is made with the lock of the other list.
    template <class Other> void add_all(Other &other) {
        for (int value : other.to_array()) add(value);
    }

    void clear() {
        modifications++;
        for (int i = 0; i < count; i++) elements[i] = 0;
        count = 0;
    }

    int size() { return count; }

    std::vector<int> to_array() { return std::vector<int>(elements, elements + count); }

    class Iterator {
        ArrayList &list;
        int cursor = 0, expected;

    public:
        explicit Iterator(ArrayList &l) : list(l), expected(l.modifications) {}
        bool has_next() { return cursor != list.count; }
        int next() {
            if (list.modifications != expected) throw ConcurrentModification();
            if (cursor >= list.count) throw NoSuchElement();
            return list.elements[cursor++];
        }
    };
};

int main() {
    return drive<ArrayList>(3);
}
