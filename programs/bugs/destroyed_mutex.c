// A mutex is locked after it has been destroyed.
// expect: destroyed-mutex
// shows: always
#include "../threads.h"

static pthread_mutex_t lock;

int main(void) {
    pthread_mutex_init(&lock, NULL);
    pthread_mutex_destroy(&lock);
    pthread_mutex_lock(&lock); // HERE
}
