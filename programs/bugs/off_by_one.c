// Each thread has its half of an array, but the first one goes one too far.
// expect: race
// shows: always
#include "../threads.h"

static long array[16];

static void lower_half(void) {
    for (int i = 0; i <= 8; i++) {
        array[i] = i; // RACE
        use(i);
    }
}

static void upper_half(void) {
    for (int i = 8; i < 16; i++) {
        array[i] = i; // RACE
        use(i);
    }
}

int main(void) {
    together(lower_half, upper_half);
    return array[8] != 8;
}
