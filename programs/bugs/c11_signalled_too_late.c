// What a thread has asked for is freed when it is done: but who does it gives back the lock
// first, and signals then.
// expect: race
// shows: always
// tsan: crashes (it does not intercept thrd_create)
#include <stdlib.h>
#include <threads.h>

#include "../invisible.h"

struct request {
    mtx_t lock;
    cnd_t changed;
    int done;
};

static int serve(void *asked) {
    struct request *request = asked;
    mtx_lock(&request->lock);
    request->done = 1;
    mtx_unlock(&request->lock);
    cnd_signal(&request->changed); // RACE
    invisible_step();
    return 0;
}

int main(void) {
    struct request *request = malloc(sizeof *request);
    mtx_init(&request->lock, mtx_plain);
    cnd_init(&request->changed);
    request->done = 0;
    thrd_t server;
    thrd_create(&server, serve, request);
    invisible_await(1);
    mtx_lock(&request->lock);
    while (!request->done) cnd_wait(&request->changed, &request->lock);
    mtx_unlock(&request->lock);
    cnd_destroy(&request->changed); // RACE
    mtx_destroy(&request->lock);
    free(request);
    thrd_join(server, NULL);
}
