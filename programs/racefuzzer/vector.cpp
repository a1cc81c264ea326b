// Vector 1.1 of Table 1: another thread's elements are looked at without its lock.
// Nobody counts modifications, so nothing is thrown: the races are benign at worst.
// expect: race
// shows: sometimes
#include "synchronised.h"

class Vector {
    enum { MOST = 64 };
    int elements[MOST] = {};
    int count = 0;

public:
    bool add(int value) {
        elements[count] = value;
        count++;
        return true;
    }

    bool contains(int value) {
        for (int i = 0; i < count; i++)
            if (elements[i] == value) return true;
        return false;
    }

    void remove_all() {
        for (int i = 0; i < count; i++) elements[i] = 0;
        count = 0;
    }

    class Iterator {
        Vector &vector;
        int cursor = 0;

    public:
        explicit Iterator(Vector &v) : vector(v) {}
        bool has_next() { return cursor < vector.count; }
        int next() { return vector.elements[cursor++]; }
    };
};

int main() {
    return drive<Vector>([](auto &one, auto &two) {
        one.contains_all(two);
        one.add_all(two);
    });
}
