// One thread destroys the mutex that the other has used; nothing orders them.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static pthread_mutex_t lock;

static void user(void) {
    pthread_mutex_lock(&lock); // RACE
    pthread_mutex_unlock(&lock); // RACE
    invisible_step();
}

static void owner(void) {
    invisible_await(1);
    pthread_mutex_destroy(&lock); // RACE
}

int main(void) {
    pthread_mutex_init(&lock, NULL);
    together(user, owner);
}
