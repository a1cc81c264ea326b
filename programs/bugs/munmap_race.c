// A page is unmapped by a thread that nothing orders after its last use.
// expect: race
// shows: always
// tsan: misses (unmapped memory is forgotten, not written)
#include "../threads.h"
#include "../invisible.h"
#include <sys/mman.h>

static long *page;

static void user(void) {
    page[0] = 1; // RACE
    invisible_step();
}

static void owner(void) {
    invisible_await(1);
    munmap(page, 4096); // RACE
}

int main(void) {
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 1;
    together(user, owner);
}
