// The lost update: counter++ is a read and a write.
// expect: race
// shows: always
#include "../threads.h"
#include <stdio.h>

static int counter;

static void count(void) {
    for (int i = 0; i < 1000; i++) {
        counter++; // RACE
        use(i);
    }
}

int main(void) {
    together(count, count);
    printf("%d of 2000\n", counter);
}
