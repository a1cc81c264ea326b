// A thread takes a lock that it holds: on a path that only the second visitor takes.
// expect: deadlock
#include "../threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int visits;

static void welcome_back(void) {
    pthread_mutex_lock(&lock); // HERE
    visits++;
    pthread_mutex_unlock(&lock);
}

static void visitor(void) {
    pthread_mutex_lock(&lock);
    if (visits++ > 0) welcome_back();
    pthread_mutex_unlock(&lock);
}

int main(void) { together(visitor, visitor); }
