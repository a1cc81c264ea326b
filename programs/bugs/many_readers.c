// Eight threads have read the variable, then one writes it: a detector must
// remember more than the last reader.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static long shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void polite_reader(void) {
    invisible_await(1);
    pthread_mutex_lock(&lock);
    use(shared);
    pthread_mutex_unlock(&lock);
}

static void reader(void) {
    use(shared); // RACE
    invisible_step();
}

static void writer(void) {
    invisible_await(1);
    usleep(50000);
    pthread_mutex_lock(&lock);
    shared = 1; // RACE
    pthread_mutex_unlock(&lock);
}

int main(void) {
    together(reader, polite_reader, polite_reader, polite_reader, polite_reader,
             polite_reader, polite_reader, polite_reader, writer);
}
