// volatile is not synchronisation: both the flag and the data race.
// expect: race f
// expect: race d
// shows: always
#include "../threads.h"

static volatile long ready;
static long data;

static void producer(void) {
    data = 42; // RACE d
    ready = 1; // RACE f
}

static void consumer(void) {
    while (!ready) // RACE f
        usleep(100);
    use(data); // RACE d
}

int main(void) { together(producer, consumer); }
