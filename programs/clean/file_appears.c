// A file that appears tells that something is done.
#include "../threads.h"
#include <stdio.h>

static char path[64];
static long payload;

static void makes(void) {
    payload = 42;
    fclose(fopen(path, "w"));
}

static void looks(void) {
    while (access(path, F_OK)) usleep(1000);
    if (payload != 42) abort();
}

int main(void) {
    char directory[] = "/tmp/appears-XXXXXX";
    if (!mkdtemp(directory)) return 1;
    snprintf(path, sizeof path, "%s/done", directory);
    together(makes, looks);
    unlink(path);
    rmdir(directory);
}
