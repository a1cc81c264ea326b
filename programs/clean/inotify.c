// Who is told of a file, or finds it, knows what the one did who has made and closed it.
#include "../threads.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>

static char file[64], mark[64];
static long payload, marked;
static int notices;

static void makes(void) {
    payload = 42;
    close(open(file, O_CREAT | O_WRONLY, 0600));
    marked = 43;
    close(creat(mark, 0600));
}

static void is_told(void) {
    char told[512];
    if (read(notices, told, sizeof told) <= 0) abort();
    if (payload != 42) abort();
    while (access(mark, F_OK)) usleep(1000);
    if (marked != 43) abort();
}

int main(void) {
    char directory[] = "/tmp/told-XXXXXX";
    if (!mkdtemp(directory)) return 1;
    snprintf(file, sizeof file, "%s/file", directory);
    snprintf(mark, sizeof mark, "%s/mark", directory);
    notices = inotify_init1(IN_CLOEXEC);
    inotify_add_watch(notices, directory, IN_CREATE);
    together(makes, is_told);
    unlink(file);
    unlink(mark);
    rmdir(directory);
}
