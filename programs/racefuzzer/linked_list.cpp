// LinkedList of Table 1: containsAll, equals and addAll go through a list that another
// thread changes, and its iterator throws.
// expect: race
// shows: sometimes
// harm: abort
#include "synchronised.h"

class LinkedList : public List<LinkedList> {
    struct Node {
        int value;
        Node *next, *previous;
    };
    Node head{0, &head, &head};
    int count = 0, modifications = 0;

public:
    bool add(int value) {
        auto *node = new Node{value, &head, head.previous};
        head.previous->next = node;
        head.previous = node;
        count++;
        modifications++;
        return true;
    }

    bool contains(int value) {
        for (Node *node = head.next; node != &head; node = node->next)
            if (node->value == value) return true;
        return false;
    }

    // Nodes stay, as they do where garbage is collected.
    bool remove(int value) {
        for (Node *node = head.next; node != &head; node = node->next) {
            if (node->value != value) continue;
            node->previous->next = node->next;
            node->next->previous = node->previous;
            count--;
            modifications++;
            return true;
        }
        return false;
    }

    void clear() {
        head.next = head.previous = &head;
        count = 0;
        modifications++;
    }

    int size() { return count; }

    std::vector<int> to_array() {
        std::vector<int> values;
        for (Node *node = head.next; node != &head; node = node->next) values.push_back(node->value);
        return values;
    }

    class Iterator {
        LinkedList &list;
        Node *at;
        int index = 0, expected;

    public:
        explicit Iterator(LinkedList &l) : list(l), at(l.head.next), expected(l.modifications) {}
        bool has_next() { return index != list.count; }
        int next() {
            if (list.modifications != expected) throw ConcurrentModification();
            if (index >= list.count) throw NoSuchElement();
            int value = at->value;
            at = at->next;
            index++;
            return value;
        }
    };
};

int main() {
    return drive<LinkedList>(3);
}
