// malloc in one thread, free in another: the lock of the mailbox orders the two.
#include "../threads.h"

static long *mailbox;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long *exchange(long *block) {
    pthread_mutex_lock(&lock);
    long *old = mailbox;
    mailbox = block;
    pthread_mutex_unlock(&lock);
    return old;
}

static void maker(void) {
    for (long i = 0; i < 500; i++) {
        long *block = malloc(sizeof *block);
        *block = i;
        free(exchange(block));
    }
}

static void taker(void) {
    for (int i = 0; i < 500; i++) {
        long *block = exchange(NULL);
        if (block != NULL && *block < 0) abort();
        free(block);
    }
}

int main(void) {
    together(maker, taker, maker);
    free(mailbox);
}
