// Five philosophers eat once, each with two forks: only if all take their first before
// anybody takes a second, they wait for each other.
// expect: deadlock
#include "../threads.h"

enum { SEATS = 5 };

static pthread_mutex_t forks[SEATS];

static void *eat(void *seat) {
    int left = (int)(long)seat, right = (left + 1) % SEATS;
    pthread_mutex_lock(&forks[left]);
    pthread_mutex_lock(&forks[right]); // HERE
    pthread_mutex_unlock(&forks[right]);
    pthread_mutex_unlock(&forks[left]);
    return NULL;
}

int main(void) {
    pthread_t threads[SEATS];
    for (int i = 0; i < SEATS; i++) pthread_mutex_init(&forks[i], NULL);
    for (long i = 0; i < SEATS; i++) pthread_create(&threads[i], NULL, eat, (void *)i);
    for (int i = 0; i < SEATS; i++) pthread_join(threads[i], NULL);
}
