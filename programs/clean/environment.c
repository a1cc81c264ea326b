// setenv and getenv under a lock; the value is copied before the lock is released.
#include "../threads.h"
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void setter(void) {
    for (int i = 0; i < 100; i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i);
        pthread_mutex_lock(&lock);
        setenv("GALLERY", value, 1);
        pthread_mutex_unlock(&lock);
    }
}

static void getter(void) {
    for (int i = 0; i < 100; i++) {
        char copy[16] = "";
        pthread_mutex_lock(&lock);
        const char *value = getenv("GALLERY");
        if (value != NULL) strncpy(copy, value, sizeof copy - 1);
        pthread_mutex_unlock(&lock);
        use(copy[0]);
    }
}

int main(void) { together(setter, getter); }
