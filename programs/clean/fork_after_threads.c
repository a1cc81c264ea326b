// The threads of a process are not there in the child of a fork, so nothing they
// did can race with what the child does.
#include "../threads.h"
#include "../invisible.h"
#include <sys/wait.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int work;

static void *worker(void *arg) {
    pthread_mutex_lock(&lock);
    work = 1;
    pthread_mutex_unlock(&lock);
    invisible_step();
    for (;;) pause();
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_detach(thread);
    invisible_await(1);
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_init(&lock, NULL);
        work++;
        exit(work != 2);
    }
    int status;
    waitpid(child, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
