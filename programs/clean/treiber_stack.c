// Treiber's lock-free stack. Popped nodes are not freed before the end, so there is
// no ABA problem.
#include "../threads.h"
#include <assert.h>
#include <stdatomic.h>

enum { N = 200 };

struct node { int value; struct node *next; };

static struct node *_Atomic top;
static struct node nodes[2 * N];
static atomic_int sum;

static void push(struct node *node) {
    struct node *old = atomic_load_explicit(&top, memory_order_relaxed);
    do node->next = old;
    while (!atomic_compare_exchange_weak_explicit(&top, &old, node, memory_order_release,
                                                  memory_order_relaxed));
}

static struct node *pop(void) {
    struct node *old = atomic_load_explicit(&top, memory_order_acquire);
    while (old != NULL &&
           !atomic_compare_exchange_weak_explicit(&top, &old, old->next, memory_order_acquire,
                                                  memory_order_acquire)) {}
    return old;
}

static void work(struct node *mine) {
    for (int i = 0; i < N; i++) {
        mine[i].value = 1;
        push(&mine[i]);
        struct node *got = i % 2 ? pop() : NULL;
        if (got != NULL) atomic_fetch_add(&sum, got->value);
    }
}

static void first(void) { work(nodes); }
static void second(void) { work(nodes + N); }

int main(void) {
    together(first, second);
    for (struct node *node; (node = pop()) != NULL;) sum += node->value;
    assert(sum == 2 * N);
}
