/* Uses a C++ part, a shared library and a plugin, all instrumented, and succeeds
   if they all call the one runtime that is in this program. */

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

extern int racehound_calls(void);

int part(int *number);
int library(int *number);
void *library_runtime(void);

static void *work(void *number) {
    part(number);
    library(number);
    return NULL;
}

int main(int argc, char **argv) {
    int number = argc;
    pthread_t thread;
    pthread_create(&thread, NULL, work, &number);
    pthread_join(thread, NULL);

    void *plugin = dlopen(argv[1], RTLD_NOW);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int (*plug)(int *) = (int (*)(int *))dlsym(plugin, "plug");
    void *(*plugin_runtime)(void) = (void *(*)(void))dlsym(plugin, "plugin_runtime");
    int before = racehound_calls();
    if (plug(&number) != argc + 3 || racehound_calls() == before) {
        return 2;
    }
    void *runtime = (void *)racehound_calls;
    return runtime == library_runtime() && runtime == plugin_runtime() ? 0 : 3;
}
