// ArrayList of Table 1: as the linked list, over an array that grows.
// expect: race
// shows: sometimes
// harm: abort
#include "synchronised.h"

class ArrayList {
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

    void remove_all() {
        modifications++;
        for (int i = 0; i < count; i++) elements[i] = 0;
        count = 0;
    }

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
    return drive<ArrayList>([](auto &one, auto &two) {
        one.contains_all(two);
        one.equals(two);
    });
}
