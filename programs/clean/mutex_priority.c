// Mutexes with priority inheritance and with adaptive spinning.
#include "../threads.h"
#include <assert.h>

static int inherited, adapted;
static pthread_mutex_t inheriting;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

static void count(void) {
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&inheriting);
        inherited++;
        pthread_mutex_unlock(&inheriting);
        pthread_mutex_lock(&adaptive);
        adapted++;
        pthread_mutex_unlock(&adaptive);
    }
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&inheriting, &attributes);
    together(count, count);
    assert(inherited == 400 && adapted == 400);
    pthread_mutex_destroy(&inheriting);
}
