// TreeSet of Table 1: containsAll and addAll go through a tree that another thread
// changes.
// expect: race
// shows: sometimes
// harm: abort
#include "synchronised.h"

class TreeSet : public Set<TreeSet> {
    struct Node {
        int value;
        Node *left, *right, *parent;
    };
    Node *root = nullptr;
    int count = 0, modifications = 0;

public:
    bool add(int value) {
        Node **at = &root, *parent = nullptr;
        while (*at) {
            parent = *at;
            if (parent->value == value) return false;
            at = value < parent->value ? &parent->left : &parent->right;
        }
        *at = new Node{value, nullptr, nullptr, parent};
        count++;
        modifications++;
        return true;
    }

    bool contains(int value) {
        Node *node = root;
        while (node && node->value != value) node = value < node->value ? node->left : node->right;
        return node != nullptr;
    }

    bool remove(int value) {
        Node **at = &root;
        while (*at && (*at)->value != value) at = value < (*at)->value ? &(*at)->left : &(*at)->right;
        Node *node = *at;
        if (!node) return false;
        modifications++;
        count--;
        if (node->left && node->right) {
            Node **least = &node->right;
            while ((*least)->left) least = &(*least)->left;
            node->value = (*least)->value;
            node = *(at = least);
        }
        Node *child = node->left ? node->left : node->right;
        if (child) child->parent = node->parent;
        *at = child;
        return true;
    }

    void clear() {
        modifications++;
        count = 0;
        root = nullptr;
    }

    int size() { return count; }

    class Iterator {
        TreeSet &set;
        Node *following;
        int expected;

        static Node *leftmost(Node *node) {
            while (node && node->left) node = node->left;
            return node;
        }

        static Node *successor(Node *node) {
            if (node->right) return leftmost(node->right);
            while (node->parent && node->parent->right == node) node = node->parent;
            return node->parent;
        }

    public:
        explicit Iterator(TreeSet &s) : set(s), following(leftmost(s.root)), expected(s.modifications) {}
        bool has_next() { return following != nullptr; }
        int next() {
            if (!following) throw NoSuchElement();
            if (set.modifications != expected) throw ConcurrentModification();
            int value = following->value;
            following = successor(following);
            return value;
        }
    };
};

int main() {
    return drive<TreeSet>(3000);
}
