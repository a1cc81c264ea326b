// The mutex lives in the object it protects; who brings the count to zero unlocks,
// destroys and frees it.
#include "../threads.h"

struct object { pthread_mutex_t lock; int references; };

static struct object *object;

static void release(void) {
    pthread_mutex_lock(&object->lock);
    int left = --object->references;
    pthread_mutex_unlock(&object->lock);
    if (left == 0) {
        pthread_mutex_destroy(&object->lock);
        free(object);
    }
}

int main(void) {
    object = malloc(sizeof *object);
    pthread_mutex_init(&object->lock, NULL);
    object->references = 3;
    together(release, release, release);
}
