// vfork and exec of another program, while a thread is running.
#include "../threads.h"
#include <sys/wait.h>

static long counter;

static void spawner(void) {
    int status;
    pid_t pid = vfork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) abort();
}

static void worker(void) {
    for (int i = 0; i < 1000; i++) counter++;
}

int main(void) {
    together(spawner, worker);
    return counter != 1000;
}
