// The child of a fork starts threads; parent and child count on their own.
#include "../threads.h"
#include <sys/wait.h>

static long counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void count(void) {
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        counter++;
        pthread_mutex_unlock(&lock);
    }
}

int main(void) {
    int status;
    pid_t pid = fork();
    together(count, count);
    if (counter != 200) abort();
    if (pid == 0) return 0;
    waitpid(pid, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
