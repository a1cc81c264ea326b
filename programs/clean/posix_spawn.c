// posix_spawn and system from two threads at once.
#include "../threads.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static void spawner(void) {
    char name[] = "true", *arguments[] = {name, NULL};
    int status;
    pid_t pid;
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ) != 0) abort();
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) abort();
}

static void sheller(void) {
    if (system("exit 3") != 3 << 8) abort();
}

int main(void) { together(spawner, sheller); }
