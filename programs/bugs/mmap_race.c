// A race in memory from mmap.
// expect: race
// shows: always
#include "../threads.h"
#include <sys/mman.h>

static long *page;

static void first(void) { page[100] = 1; }  // RACE
static void second(void) { page[100] = 2; } // RACE

int main(void) {
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return 1;
    together(first, second);
    munmap(page, 4096);
}
