// LinkedList of Table 1: containsAll and equals go through a list that another thread
// changes, and its iterator throws.
// expect: race
// shows: sometimes
// harm: abort
#include "synchronised.h"

class LinkedList {
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
    void remove_all() {
        head.next = head.previous = &head;
        count = 0;
        modifications++;
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
    return drive<LinkedList>([](auto &one, auto &two) {
        one.contains_all(two);
        one.equals(two);
    });
}
