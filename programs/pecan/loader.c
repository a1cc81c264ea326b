// Loader of Table 1: a thread loads an array and says how far it is, others sort and
// check it. Who sorts waits for a while instead of for the loader.
// expect: race
// shows: sometimes
// harm: abort
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

#define LENGTH 4

static int numbers[LENGTH], loaded, seen, wrong;

static void *load(void *unused) {
    for (int i = 0; i < LENGTH; i++) numbers[i] = LENGTH - i; // RACE
    loaded = LENGTH; // RACE
    return unused;
}

static void *sort(void *unused) {
    usleep(20000);
    seen = loaded; // RACE
    for (int i = 0; i < LENGTH; i++)
        for (int j = i + 1; j < LENGTH; j++)
            if (numbers[j] < numbers[i]) { // RACE
                int larger = numbers[i]; // RACE
                numbers[i] = numbers[j]; // RACE
                numbers[j] = larger; // RACE
            }
    return unused;
}

static void *check(void *unused) {
    usleep(40000);
    for (int i = 1; i < LENGTH; i++) wrong += numbers[i - 1] > numbers[i]; // RACE
    return unused;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], 0, load, 0);
    pthread_create(&threads[1], 0, sort, 0);
    pthread_create(&threads[2], 0, check, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    assert(seen == LENGTH && wrong == 0);
}
