// Who goes through a list under its lock takes the lock of an element twice. In between
// others change the element under its lock alone, which nobody minds.
#include "../threads.h"
#include <assert.h>

static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t element = PTHREAD_MUTEX_INITIALIZER;
static int length = 1, users;

static NOINLINE void note(int by) {
    pthread_mutex_lock(&element);
    users += by;
    pthread_mutex_unlock(&element);
}

static void visit(void) {
    pthread_mutex_lock(&list);
    for (int i = 0; i < length; i++) {
        note(1);
        note(-1);
    }
    pthread_mutex_unlock(&list);
}

static void change(void) {
    pthread_mutex_lock(&list);
    length = 2;
    pthread_mutex_unlock(&list);
    note(1);
}

int main(void) {
    together(visit, change);
    assert(users == 1);
}
