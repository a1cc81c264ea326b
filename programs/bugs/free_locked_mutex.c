// A block is freed with a locked mutex inside it.
// expect: destroy-locked
// shows: always
// tsan: misses (a block may be freed with any lock in it)
#include "../threads.h"

struct object { pthread_mutex_t lock; int value; };

int main(void) {
    struct object *object = malloc(sizeof *object);
    pthread_mutex_init(&object->lock, NULL);
    pthread_mutex_lock(&object->lock);
    free(object); // HERE
}
