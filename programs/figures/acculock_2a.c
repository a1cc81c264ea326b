// acculock.txt Figure 2(a), Lemma 1: three reads under growing locksets. The
// last two are redundant, though the third is in a new epoch. No race.
#include "../threads.h"

static int x;
static pthread_mutex_t l1 = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t l2 = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t l3 = PTHREAD_MUTEX_INITIALIZER;

static void T(void) {
    pthread_mutex_lock(&l1);
    use(x); // A
    pthread_mutex_lock(&l2);
    use(x); // B
    pthread_mutex_unlock(&l2);
    pthread_mutex_lock(&l3);
    use(x); // C
    pthread_mutex_unlock(&l3);
    pthread_mutex_unlock(&l1);
}

int main(void) {
    x = 1;
    together(T, T);
}
