// The destructor of a pthread key runs at the end of a thread, later than its
// author thinks.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"

static pthread_key_t key;
static long cleaned;

static void destructor(void *value) {
    (void)value;
    cleaned = 1; // RACE
    invisible_step();
}

static void worker(void) { pthread_setspecific(key, &cleaned); }

static void watcher(void) {
    invisible_await(1);
    use(cleaned); // RACE
}

int main(void) {
    pthread_key_create(&key, destructor);
    together(worker, watcher);
    pthread_key_delete(key);
}
