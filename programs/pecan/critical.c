// Critical of Table 1: two threads hand a turn to each other to keep out of the critical
// section, but each takes the turn before it has looked whether the other one is inside.
// expect: race
// shows: sometimes
// harm: abort
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static volatile int turn, inside, entries;

static void critical(int own) {
    turn = own; // RACE
    if (turn != own) return; // RACE
    inside++; // RACE
    assert(inside == 1); // RACE
    entries++; // RACE
    inside--; // RACE
}

static void *first(void *unused) {
    critical(1);
    return unused;
}

static void *second(void *unused) {
    usleep(20000);
    critical(2);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return entries > 2;
}
