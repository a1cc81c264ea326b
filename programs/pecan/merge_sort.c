// MergeSort of Table 1: sorting asks whether another thread may be started, and then
// starts it. Asking and counting are each locked, so more threads may run than there
// should be: an atomicity violation without a race.
// expect: atomicity
// shows: never
// harm: abort
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define LENGTH 8
#define MOST 3

struct part {
    int *from, length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int running = 1;

static int may_start(void) {
    pthread_mutex_lock(&lock);
    int may = running < MOST; // HERE
    pthread_mutex_unlock(&lock);
    return may;
}

static void started(void) {
    pthread_mutex_lock(&lock);
    running++; // HERE
    assert(running <= MOST);
    pthread_mutex_unlock(&lock);
}

static void ended(void) {
    pthread_mutex_lock(&lock);
    running--;
    pthread_mutex_unlock(&lock);
}

static void *sort(void *argument);

__attribute__((noinline)) static int sort_beside(pthread_t *thread, struct part *part) {
    if (!may_start()) return 0;
    started();
    return pthread_create(thread, 0, sort, part) == 0;
}

static void *sort(void *argument) {
    struct part *part = argument;
    if (part->length < 2) return 0;
    struct part halves[2] = {{part->from, part->length / 2},
                             {part->from + part->length / 2, part->length - part->length / 2}};
    pthread_t thread;
    if (part->length == LENGTH / 2 && part->from[0] < 5) usleep(20000);
    int beside = sort_beside(&thread, &halves[0]);
    if (!beside) sort(&halves[0]);
    sort(&halves[1]);
    if (beside) {
        pthread_join(thread, 0);
        ended();
    }
    int merged[LENGTH], i = 0, j = 0;
    for (int k = 0; k < part->length; k++)
        merged[k] = j == halves[1].length ||
                            (i < halves[0].length && halves[0].from[i] <= halves[1].from[j])
                        ? halves[0].from[i++]
                        : halves[1].from[j++];
    memcpy(part->from, merged, sizeof *merged * (size_t)part->length);
    return 0;
}

int main(void) {
    static int numbers[LENGTH] = {7, 3, 8, 5, 2, 6, 1, 4};
    struct part all = {numbers, LENGTH};
    sort(&all);
    for (int i = 1; i < LENGTH; i++) assert(numbers[i - 1] <= numbers[i]);
}
