// A plugin is loaded again and again: what its memory was before is over.
// plugin: plugin_reloaded_body.c
#include "../threads.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static void (*entry)(void);

static void *call(void *argument) {
    entry();
    return argument;
}

int main(void) {
    char path[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length < 0) return 1;
    path[length] = 0;
    strcpy(strrchr(path, '/'), "/plugin_reloaded_body.so");
    for (int round = 0; round < 20; round++) {
        void *library = dlopen(path, RTLD_NOW);
        if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
        *(void **)&entry = dlsym(library, "plugin_counts");
        pthread_t thread;
        pthread_create(&thread, NULL, call, NULL);
        pthread_join(thread, NULL);
        dlclose(library);
    }
}
