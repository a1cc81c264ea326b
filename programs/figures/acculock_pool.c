// acculock.txt V-B, jcs: objects change hands through a locked pool; their field
// attr is touched without a lock by whoever has taken the object out. No race;
// AccuLock warns.
#include "../threads.h"

struct cache_element { int attr; struct cache_element *next; };

static struct cache_element elements[2] = {{0, &elements[1]}, {0, NULL}};
static struct cache_element *pool = &elements[0];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void client(void) {
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        struct cache_element *mine = pool;
        if (mine != NULL) pool = mine->next;
        pthread_mutex_unlock(&lock);
        if (mine == NULL) continue;

        mine->attr++; // nobody else can reach it

        pthread_mutex_lock(&lock);
        mine->next = pool;
        pool = mine;
        pthread_mutex_unlock(&lock);
    }
}

int main(void) { together(client, client, client); }
