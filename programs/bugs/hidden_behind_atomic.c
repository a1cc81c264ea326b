// A statistics counter with acquire-release order, bumped by everybody, orders
// what it was never meant to order.
// expect: race
// shows: sometimes
#include "../threads.h"
#include <stdatomic.h>

static int data;
static atomic_int statistics;

static void first(void) {
    data = 1; // RACE
    atomic_fetch_add(&statistics, 1);
}

static void second(void) {
    usleep(30000);
    atomic_fetch_add(&statistics, 1);
    data = 2; // RACE
}

int main(void) {
    together(first, second);
    return data == 0;
}
