// main leaves by pthread_exit, and another thread joins it like any other.
// tsan: crashes (it does not know the main thread by its pthread_t)
#include "../threads.h"

static long payload;

static void *last(void *arg) {
    pthread_t *main_thread = arg;
    pthread_join(*main_thread, NULL);
    exit(payload == 42 ? 0 : 1);
}

int main(void) {
    static pthread_t self, thread;
    self = pthread_self();
    pthread_create(&thread, NULL, last, &self);
    pthread_detach(thread);
    usleep(10000);
    payload = 42; // seen by who joins main
    pthread_exit(NULL);
}
