// Dining philosophers: each takes the fork to its left, then the one to its right.
// When all have taken one, all wait. How many there are is the argument, 2 to 7.
// expect: deadlock
// args: 5
#include "../threads.h"

enum { MEALS = 20, MOST = 7 };

static int seats = 5;
static pthread_mutex_t forks[MOST];

static void *philosopher(void *seat) {
    int left = (int)(long)seat, right = (left + 1) % seats;
    for (int meal = 0; meal < MEALS; meal++) {
        pthread_mutex_lock(&forks[left]);
        pthread_mutex_lock(&forks[right]); // HERE
        pthread_mutex_unlock(&forks[right]);
        pthread_mutex_unlock(&forks[left]);
    }
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t threads[MOST];
    if (count > 1) seats = atoi(arguments[1]);
    if (seats < 2 || seats > MOST) return 2;
    for (int i = 0; i < seats; i++) pthread_mutex_init(&forks[i], NULL);
    for (long i = 0; i < seats; i++) pthread_create(&threads[i], NULL, philosopher, (void *)i);
    for (int i = 0; i < seats; i++) pthread_join(threads[i], NULL);
}
