// A mutex is destroyed while it is held.
// expect: destroy-locked
// shows: always
#include "../threads.h"

static pthread_mutex_t lock;

int main(void) {
    pthread_mutex_init(&lock, NULL);
    pthread_mutex_lock(&lock);
    pthread_mutex_destroy(&lock); // HERE
}
