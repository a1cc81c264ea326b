// One thread closes the stream to which another has written; nothing orders them.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"
#include <stdio.h>

static FILE *file;

static void logger(void) {
    fputs("a line\n", file); // RACE
    invisible_step();
}

static void closer(void) {
    invisible_await(1);
    fclose(file); // RACE
}

int main(void) {
    file = tmpfile();
    if (file == NULL) return 1;
    together(logger, closer);
}
