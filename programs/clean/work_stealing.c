// Chase and Lev's work-stealing deque: the owner works at the bottom, a thief takes
// from the top. Sequentially consistent throughout.
#include "../threads.h"
#include <assert.h>
#include <stdatomic.h>

enum { TASKS = 500 };

struct task { int weight; };

static struct task *_Atomic deque[TASKS];
static struct task tasks[TASKS];
static atomic_int top, bottom, done;
static int owned, stolen;

static void push(struct task *task) {
    int b = atomic_load(&bottom);
    atomic_store(&deque[b], task);
    atomic_store(&bottom, b + 1);
}

static struct task *take(void) {
    int b = atomic_load(&bottom) - 1;
    atomic_store(&bottom, b);
    int t = atomic_load(&top);
    if (t < b) return atomic_load(&deque[b]);
    struct task *last = NULL;
    if (t == b) { // the last one: race the thief for it
        last = atomic_load(&deque[b]);
        if (!atomic_compare_exchange_strong(&top, &t, t + 1)) last = NULL;
    }
    atomic_store(&bottom, b + 1);
    return last;
}

static struct task *steal(void) {
    int t = atomic_load(&top);
    if (t >= atomic_load(&bottom)) return NULL;
    struct task *task = atomic_load(&deque[t]);
    return atomic_compare_exchange_strong(&top, &t, t + 1) ? task : NULL;
}

static void owner(void) {
    for (int i = 0; i < TASKS; i++) {
        tasks[i].weight = 1;
        push(&tasks[i]);
    }
    for (struct task *task; (task = take()) != NULL;) owned += task->weight++;
    atomic_store(&done, 1);
}

static void thief(void) {
    while (!atomic_load(&done)) {
        struct task *task = steal();
        if (task != NULL) stolen += task->weight++;
        else usleep(100);
    }
}

int main(void) {
    together(owner, thief);
    for (struct task *task; (task = take()) != NULL;) owned += task->weight;
    assert(owned + stolen == TASKS);
}
