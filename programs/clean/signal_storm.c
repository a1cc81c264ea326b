// An interval timer interrupts threads in the middle of everything, malloc and
// locks included; the handler only counts, atomically.
#include "../threads.h"
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

static atomic_int ticks;
static long counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void tick(int number) {
    (void)number;
    atomic_fetch_add_explicit(&ticks, 1, memory_order_relaxed);
}

static void worker(void) {
    for (int i = 0; i < 5000; i++) {
        char *volatile block = malloc(64);
        pthread_mutex_lock(&lock);
        counter++;
        pthread_mutex_unlock(&lock);
        free(block);
    }
}

int main(void) {
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval every_millisecond = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &every_millisecond, NULL);
    together(worker, worker);
    setitimer(ITIMER_REAL, &never, NULL);
    return counter != 10000;
}
