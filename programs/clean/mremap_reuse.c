// mremap moves pages away; the addresses they leave go to the other thread's mmap.
// tsan: false-alarm (it does not intercept mremap)
#include "../threads.h"
#include <sys/mman.h>

static void churn(void) {
    for (int i = 0; i < 200; i++) {
        size_t size = 4096u * (1 + i % 4);
        char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) abort();
        for (size_t at = 0; at < size; at += 512) pages[at] = 1;
        char *larger = mremap(pages, size, 2 * size, MREMAP_MAYMOVE);
        if (larger == MAP_FAILED) abort();
        for (size_t at = 0; at < 2 * size; at += 512) larger[at] = 2;
        munmap(larger, 2 * size);
    }
}

int main(void) { together(churn, churn); }
