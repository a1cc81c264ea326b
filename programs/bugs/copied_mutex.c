// A struct is copied with its mutex: each thread locks a mutex of its own, yet
// both count in the same place.
// expect: race
// shows: always
#include "../threads.h"

struct counter {
    pthread_mutex_t lock;
    long *value;
};

static long value;
static struct counter original = {PTHREAD_MUTEX_INITIALIZER, &value};
static struct counter copy;

static NOINLINE void count(struct counter *c) {
    pthread_mutex_lock(&c->lock);
    ++*c->value; // RACE
    pthread_mutex_unlock(&c->lock);
}

static void first(void) { count(&original); }
static void second(void) { count(&copy); }

int main(void) {
    copy = original;
    together(first, second);
    return value == 0;
}
