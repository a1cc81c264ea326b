// acculock.txt Figure 2(b), Lemma 2: three writes under growing locksets, all
// with l1. No race.
#include "../threads.h"

static int x;
static pthread_mutex_t l1 = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t l2 = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t l3 = PTHREAD_MUTEX_INITIALIZER;

static void T(void) {
    pthread_mutex_lock(&l1);
    x = 1; // A
    pthread_mutex_lock(&l2);
    x = 2; // B
    pthread_mutex_unlock(&l2);
    pthread_mutex_lock(&l3);
    x = 3; // C
    pthread_mutex_unlock(&l3);
    pthread_mutex_unlock(&l1);
}

int main(void) {
    together(T, T);
    return x - 3;
}
