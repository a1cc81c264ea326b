// Pages are mapped, used and unmapped by two threads; the kernel gives the same
// addresses again.
#include "../threads.h"
#include <sys/mman.h>

static void churn(void) {
    for (int i = 0; i < 200; i++) {
        size_t size = 4096u * (1 + i % 4);
        char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) abort();
        for (size_t at = 0; at < size; at += 512) pages[at] = 1;
        munmap(pages, size);
    }
}

int main(void) { together(churn, churn); }
