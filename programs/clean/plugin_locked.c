// A plugin, loaded and unloaded while threads run; a lock orders its calls.
// plugin: plugin_locked_body.c
#include "../threads.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static int (*entry)(void);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void caller(void) {
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&lock);
        entry();
        pthread_mutex_unlock(&lock);
    }
}

int main(void) {
    char path[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length < 0) return 1;
    path[length] = 0;
    strcpy(strrchr(path, '/'), "/plugin_locked_body.so");
    for (int round = 0; round < 3; round++) {
        void *library = dlopen(path, RTLD_NOW);
        if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
        *(void **)&entry = dlsym(library, "plugin_entry");
        together(caller, caller);
        if (entry() != 101) return 1; // a fresh copy each time
        dlclose(library);
    }
}
