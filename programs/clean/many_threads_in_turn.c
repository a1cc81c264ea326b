// Five thousand threads, one after the other: identities must be reused.
#include "../threads.h"

static long counter; // handed from thread to thread by create and join

static void *count(void *arg) {
    counter++;
    return arg;
}

int main(void) {
    for (int i = 0; i < 5000; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, count, NULL) != 0) return 1;
        pthread_join(thread, NULL);
    }
    return counter != 5000;
}
