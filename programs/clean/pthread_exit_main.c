// main leaves by pthread_exit; the process lives on until the last thread has ended.
// tsan: hangs (its background thread keeps the process alive)
#include "../threads.h"

static long payload;

static void *last(void *arg) {
    usleep(10000);
    if (payload != 42) abort();
    payload++;
    return arg;
}

int main(void) {
    pthread_t thread;
    payload = 42;
    pthread_create(&thread, NULL, last, NULL);
    pthread_detach(thread);
    pthread_exit(NULL);
}
