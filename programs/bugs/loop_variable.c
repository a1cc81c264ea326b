// Each thread is given the address of the loop variable, which goes on counting.
// expect: race
// shows: always
#include "../threads.h"

static void *child(void *arg) {
    int number = *(int *)arg; // RACE
    use(number);
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    int i = 0;
    while (i < 3) {
        pthread_create(&threads[i], NULL, child, &i);
        i++; // RACE
        use(i);
    }
    for (int j = 0; j < 3; j++) pthread_join(threads[j], NULL);
}
