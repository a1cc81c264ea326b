// Many threads fork at once, by fork and by clone; children use locks, the heap
// and atomics.
#include "../threads.h"
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_int counter;

static int child(void *block) {
    free(block);
    free(malloc(100));
    atomic_fetch_add(&counter, 1);
    _exit(0);
}

static void finish(pid_t process) {
    int status;
    if (process < 0 || waitpid(process, &status, 0) != process) abort();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) abort();
}

static void forker(void) {
    void *block = malloc(16);
    pid_t process = fork();
    if (process == 0) child(block);
    finish(process);
    char *stack = malloc(64 << 10);
    finish(clone(child, stack + (64 << 10), SIGCHLD, block));
    free(stack);
    free(block);
    atomic_fetch_add(&counter, 1);
}

int main(void) {
    for (int i = 0; i < 5; i++)
        together(forker, forker, forker, forker, forker, forker, forker, forker);
}
