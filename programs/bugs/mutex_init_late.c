// One thread makes the mutex, another one locks it without knowing that it is
// there yet.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static pthread_mutex_t lock;

static void maker(void) {
    pthread_mutex_init(&lock, NULL); // RACE
    invisible_step();
}

static void user(void) {
    invisible_await(1);
    pthread_mutex_lock(&lock); // RACE
    pthread_mutex_unlock(&lock);
}

int main(void) { together(maker, user); }
