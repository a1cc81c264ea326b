// fork while another thread runs and takes a lock; pthread_atfork keeps the lock whole
// for the child, which uses it.
#include "../threads.h"
#include <stdatomic.h>
#include <sys/wait.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counter;
static atomic_int stop;

static void before(void) { pthread_mutex_lock(&lock); }
static void after(void) { pthread_mutex_unlock(&lock); }

static void count(void) {
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        counter++;
        pthread_mutex_unlock(&lock);
    }
}

static void *busy(void *arg) {
    while (!atomic_load(&stop)) {
        count();
        usleep(100);
    }
    return arg;
}

static int child(void) {
    count();
    return 7;
}

int main(void) {
    pthread_t thread;
    pthread_atfork(before, after, after);
    pthread_create(&thread, NULL, busy, NULL);
    usleep(5000);
    int status;
    pid_t pid = fork();
    if (pid == 0) _exit(child());
    waitpid(pid, &status, 0);
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 7;
}
