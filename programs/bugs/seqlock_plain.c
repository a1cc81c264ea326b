// A seqlock whose data are plain variables: the reader throws torn values away,
// but reading them was a race already.
// expect: race
// shows: always
#include "../threads.h"
#include "../invisible.h"
#include <stdatomic.h>

static atomic_uint sequence;
static long left, right;

static void writer(void) {
    invisible_await(1); // a finished write would be seen in order
    atomic_fetch_add(&sequence, 1);
    left = 1;  // RACE
    right = 1; // RACE
    atomic_fetch_add(&sequence, 1);
}

static void reader(void) {
    unsigned before, after;
    do {
        before = atomic_load(&sequence);
        use(left);  // RACE
        use(right); // RACE
        after = atomic_load(&sequence);
    } while (before != after || before % 2 == 1);
    invisible_step();
}

int main(void) { together(reader, writer); }
