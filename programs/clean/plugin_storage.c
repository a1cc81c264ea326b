// Threads one after another use thread-local storage of a plugin, which the
// loader allocates for each and frees with its stack.
// plugin: plugin_storage_body.c
#include "../threads.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static int *(*own)(void);

static void *write_own(void *argument) {
    memset(own(), 1, 4096);
    return argument;
}

int main(void) {
    char path[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length < 0) return 1;
    path[length] = 0;
    strcpy(strrchr(path, '/'), "/plugin_storage_body.so");
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
    *(void **)&own = dlsym(library, "plugin_storage");
    for (int round = 0; round < 20; round++) {
        pthread_t threads[8];
        for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, write_own, NULL);
        for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    }
}
