// A timer calls a function in a thread that the C library makes for it, with a small stack.
#include <semaphore.h>
#include <signal.h>
#include <time.h>

static sem_t ticked;

static void tick(union sigval semaphore) { sem_post(semaphore.sival_ptr); }

int main(void) {
    sem_init(&ticked, 0, 0);
    struct sigevent event = {0};
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = tick;
    event.sigev_value.sival_ptr = &ticked;
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer)) return 2;
    struct itimerspec soon = {{0, 0}, {0, 2000000}};
    timer_settime(timer, 0, &soon, NULL);
    while (sem_wait(&ticked)) {}
    timer_delete(timer);
}
