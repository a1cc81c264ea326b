// Two threads push to a list without a lock: a node may be lost.
// expect: race
// shows: always
#include "../threads.h"

struct node { long value; struct node *next; };

static struct node *head;

static NOINLINE void push(struct node *node) {
    node->next = head; // RACE
    head = node;       // RACE
}

static void first(void) {
    static struct node node = {1, NULL};
    push(&node);
}

static void second(void) {
    static struct node node = {2, NULL};
    push(&node);
}

int main(void) {
    together(first, second);
    return head == NULL;
}
