// The owner of a robust mutex dies; the next one gets EOWNERDEAD, repairs the data
// and goes on.
// tsan: false-alarm (a thread that dies holding the mutex releases nothing to it)
#include "../threads.h"
#include <assert.h>
#include <errno.h>

static int data;
static pthread_mutex_t lock;

static void *dies_holding_it(void *arg) {
    pthread_mutex_lock(&lock);
    data = -1;
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &attributes);

    pthread_create(&thread, NULL, dies_holding_it, NULL);
    int answer;
    for (;;) {
        answer = pthread_mutex_lock(&lock);
        if (answer == EOWNERDEAD) break;
        pthread_mutex_unlock(&lock); // too early: the thread has not locked yet
        usleep(1000);
    }
    assert(data == -1);
    data = 0;
    pthread_mutex_consistent(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    pthread_mutex_destroy(&lock);
}
