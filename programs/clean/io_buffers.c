// The same buffer goes round: filled by read, changed, sent by write, in turns that
// two pipes arrange.
// tsan: false-alarm (it lets read() fill the buffer before it acquires)
#include "../threads.h"

static char buffer[64];
static int there[2], back[2];

static void ping(void) {
    for (int i = 0; i < 50; i++) {
        buffer[0] = (char)i;
        if (write(there[1], buffer, sizeof buffer) != sizeof buffer) abort();
        if (read(back[0], buffer, sizeof buffer) != sizeof buffer) abort();
    }
}

static void pong(void) {
    for (int i = 0; i < 50; i++) {
        if (read(there[0], buffer, sizeof buffer) != sizeof buffer) abort();
        buffer[1] = buffer[0];
        if (write(back[1], buffer, sizeof buffer) != sizeof buffer) abort();
    }
}

int main(void) {
    if (pipe(there) != 0 || pipe(back) != 0) return 1;
    together(ping, pong);
    return buffer[1] != 49;
}
