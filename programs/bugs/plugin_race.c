// The racing code is in a plugin, loaded while the program runs. The second source
// file is built as a shared library and lies beside the executable.
// plugin: plugin_race_body.c
// expect: race
// shows: always
#include "../threads.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static void (*entry)(void);

static void caller(void) { entry(); }

int main(void) {
    char path[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length < 0) return 1;
    path[length] = 0;
    strcpy(strrchr(path, '/'), "/plugin_race_body.so");
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
    *(void **)&entry = dlsym(library, "plugin_entry");
    together(caller, caller);
}
