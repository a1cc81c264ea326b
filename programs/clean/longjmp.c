// longjmp out of deep calls, in several threads: the shadow of the call stack must
// come along.
#include "../threads.h"
#include <assert.h>
#include <setjmp.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long jumps;

static NOINLINE void dig(jmp_buf *exit, int depth) {
    if (depth > 0) dig(exit, depth - 1);
    else if (exit != NULL) longjmp(*exit, 1);
    use(depth);
}

static void worker(void) {
    for (volatile int i = 0; i < 1000; i++) {
        jmp_buf exit;
        if (setjmp(exit) == 0) dig(&exit, 50);
        pthread_mutex_lock(&lock);
        jumps++;
        pthread_mutex_unlock(&lock);
    }
}

int main(void) {
    together(worker, worker);
    assert(jumps == 2000);
}
