// Treiber's stack with hazard pointers: a popped node is freed only when no other
// thread has announced that it is looking at it.
#include "../threads.h"
#include <assert.h>
#include <stdatomic.h>

enum { THREADS = 2, N = 200 };

struct node { int value; struct node *next; };

static struct node *_Atomic top;
static struct node *_Atomic hazard[THREADS];
static atomic_int sum;

static void push(int value) {
    struct node *node = malloc(sizeof *node);
    node->value = value;
    node->next = atomic_load(&top);
    while (!atomic_compare_exchange_weak(&top, &node->next, node)) {}
}

static struct node *pop(int me) {
    for (;;) {
        struct node *seen = atomic_load(&top);
        if (seen == NULL) return NULL;
        atomic_store(&hazard[me], seen);
        if (atomic_load(&top) != seen) continue; // it may be gone already
        struct node *next = seen->next;
        if (!atomic_compare_exchange_strong(&top, &seen, next)) continue;
        atomic_store(&hazard[me], NULL);
        return seen;
    }
}

static NOINLINE void work(int me) {
    struct node *retired[N];
    int waiting = 0;
    for (int i = 0; i < N; i++) {
        push(1);
        struct node *got = pop(me);
        if (got == NULL) continue;
        atomic_fetch_add(&sum, got->value);
        retired[waiting++] = got;
        while (waiting > 0 && atomic_load(&hazard[1 - me]) != retired[waiting - 1])
            free(retired[--waiting]);
    }
    atomic_store(&hazard[me], NULL);
    while (waiting > 0)
        if (atomic_load(&hazard[1 - me]) != retired[waiting - 1]) free(retired[--waiting]);
        else usleep(100);
}

static void first(void) { work(0); }
static void second(void) { work(1); }

int main(void) {
    together(first, second);
    for (struct node *node; (node = pop(0)) != NULL; free(node)) sum += node->value;
    assert(sum == THREADS * N);
}
