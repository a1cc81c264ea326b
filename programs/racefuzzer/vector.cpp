// Vector 1.1 of Table 1: methods that only look at the number of elements do so without
// the lock. Nobody counts modifications, so nothing is thrown: the races are benign.
// expect: race
// shows: sometimes
#include "synchronised.h"

class Vector {
    using Lock = std::lock_guard<std::mutex>;
    enum { MOST = 10 };
    std::mutex lock;
    int elements[MOST] = {};
    int count = 0;

    int last_index_of(int value, int from) {
        Lock hold(lock);
        for (int i = from; i >= 0; i--)
            if (elements[i] == value) return i;
        return -1;
    }

public:
    void add_element(int value) {
        Lock hold(lock);
        elements[count] = value;
        count++;
    }

    void insert_first(int value) {
        Lock hold(lock);
        for (int i = count; i > 0; i--) elements[i] = elements[i - 1];
        elements[0] = value;
        count++;
    }

    void remove_all_elements() {
        Lock hold(lock);
        for (int i = 0; i < count; i++) elements[i] = 0;
        count = 0;
    }

    std::vector<int> clone() {
        Lock hold(lock);
        return std::vector<int>(elements, elements + count);
    }

    int index_of(int value) {
        Lock hold(lock);
        for (int i = 0; i < count; i++)
            if (elements[i] == value) return i;
        return -1;
    }

    int last_index_of(int value) { return last_index_of(value, count - 1); }

    int size() { return count; }

    bool is_empty() { return count == 0; }
};

int main() {
    static Vector vector;
    vector.add_element(1);
    vector.add_element(2);
    Callers callers;
    callers.start({[] { vector.add_element(3); }});
    callers.start({[] { vector.clone(); }});
    callers.start({[] { result = vector.index_of(4); }});
    callers.start({[] { vector.insert_first(5); }});
    callers.start({[] { result = vector.is_empty(); }});
    callers.start({[] { result = vector.last_index_of(6); }});
    callers.start({[] { vector.remove_all_elements(); }});
    callers.start({[] { result = vector.size(); }});
    callers.join();
}
