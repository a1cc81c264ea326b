// A mutex is unlocked that nobody has locked.
// expect: unlock-unlocked
// shows: always
#include "../threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&lock); // HERE
}
