// A named semaphore as a mutex.
#include "../threads.h"
#include <assert.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>

static int counter;
static sem_t *lock;

static void count(void) {
    for (int i = 0; i < 200; i++) {
        sem_wait(lock);
        counter++;
        sem_post(lock);
    }
}

int main(void) {
    char name[64];
    snprintf(name, sizeof name, "/gallery-%d", (int)getpid());
    lock = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
    if (lock == SEM_FAILED) return 1;
    sem_unlink(name);
    together(count, count);
    assert(counter == 400);
    sem_close(lock);
}
