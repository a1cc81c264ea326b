// The thread asks for its synchronisation to be ignored; that of a handler that
// interrupts it counts all the same.
#include "../threads.h"
#include <signal.h>
#include <stdatomic.h>

#ifdef __cplusplus
extern "C" {
#endif
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
#ifdef __cplusplus
}
#endif

static int data;
static atomic_int ready, done;

static void handler(int signal) {
    (void)signal;
    data = 1;
    atomic_store_explicit(&ready, 1, memory_order_release);
}

static void *interrupted(void *argument) {
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    while (!atomic_load_explicit(&done, memory_order_relaxed)) usleep(100);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    return argument;
}

int main(void) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, NULL);
    pthread_t thread;
    if (pthread_create(&thread, NULL, interrupted, NULL) != 0) return 1;
    usleep(10000);
    pthread_kill(thread, SIGUSR1);
    while (!atomic_load_explicit(&ready, memory_order_acquire)) usleep(100);
    use(data);
    atomic_store_explicit(&done, 1, memory_order_relaxed);
    pthread_join(thread, NULL);
}
