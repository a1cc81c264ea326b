// A process-shared mutex in shared memory: parent and child count together.
#include "../threads.h"
#include <sys/mman.h>
#include <sys/wait.h>

struct shared { pthread_mutex_t lock; long counter; };

static struct shared *shared;

static void count(void) {
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&shared->lock);
        shared->counter++;
        pthread_mutex_unlock(&shared->lock);
    }
}

int main(void) {
    pthread_mutexattr_t attributes;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &attributes);
    pid_t child = fork();
    together(count, count);
    if (child == 0) return 0;
    waitpid(child, NULL, 0);
    return shared->counter != 800;
}
