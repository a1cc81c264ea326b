// A new thread gets the stack of one that has ended: what the old one wrote there
// is no concern of the new one.
#include "../threads.h"

static void *scribble(void *arg) {
    volatile char block[20000];
    for (unsigned i = 0; i < sizeof block; i += 64) block[i] = 1;
    return arg;
}

int main(void) {
    for (int i = 0; i < 100; i++) {
        pthread_t a, b;
        pthread_create(&a, NULL, scribble, NULL);
        pthread_create(&b, NULL, scribble, NULL);
        pthread_detach(a); // nobody joins this one
        pthread_join(b, NULL);
    }
    usleep(50000);
}
