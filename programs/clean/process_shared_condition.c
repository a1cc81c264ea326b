// Another process fulfils the condition that this one waits for.
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int value;
};

int main(void) {
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    pthread_mutexattr_t lock;
    pthread_mutexattr_init(&lock);
    pthread_mutexattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &lock);
    pthread_condattr_t changed;
    pthread_condattr_init(&changed);
    pthread_condattr_setpshared(&changed, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared->changed, &changed);
    pid_t child = fork();
    if (child == 0) {
        usleep(1000);
        pthread_mutex_lock(&shared->lock);
        shared->value = 1;
        pthread_cond_signal(&shared->changed);
        pthread_mutex_unlock(&shared->lock);
        _exit(0);
    }
    pthread_mutex_lock(&shared->lock);
    while (!shared->value) pthread_cond_wait(&shared->changed, &shared->lock);
    pthread_mutex_unlock(&shared->lock);
    int status;
    return waitpid(child, &status, 0) != child;
}
