// main's local variable, shared with a thread by pointer.
// expect: race
// shows: always
#include "../threads.h"

static void *child(void *arg) {
    *(int *)arg = 1; // RACE
    return NULL;
}

int main(void) {
    int local = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, child, &local);
    int seen = local; // RACE
    pthread_join(thread, NULL);
    return seen > 1;
}
