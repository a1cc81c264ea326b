// Bytes 0-3 and bytes 2-5 of one buffer: neither contains the other, two bytes
// are common.
// expect: race
// shows: always
#include "../threads.h"
#include <string.h>

static _Alignas(8) char buffer[8];

static void low(void) {
    int value = 1;
    memcpy(buffer, &value, sizeof value); // RACE
}

static void high(void) {
    int value = 2;
    memcpy(buffer + 2, &value, sizeof value); // RACE
}

int main(void) {
    together(low, high);
    return buffer[0] == 0 && buffer[2] == 0;
}
