// The kernel writes into the buffer for one thread while another one reads it;
// the system call is made without the C library's own function for it.
// expect: race
// shows: always
// tsan: misses (system calls by syscall() are not looked at)
#include "../threads.h"
#include "../invisible.h"
#include <sys/syscall.h>

static int ends[2];
static char buffer[8];

static void filler(void) {
    if (syscall(SYS_read, ends[0], buffer, sizeof buffer) != sizeof buffer) abort(); // RACE
    invisible_step();
}

static void reader(void) {
    invisible_await(1);
    use(buffer[3]); // RACE
}

int main(void) {
    if (pipe(ends) != 0 || write(ends[1], "8 bytes", 8) != 8) return 1;
    together(filler, reader);
}
