// A race that its author has declared benign is not to be reported.
#include "../threads.h"

void AnnotateBenignRaceSized(const char *file, int line, const volatile void *address, size_t size,
                             const char *why) __attribute__((weak));

static long statistics;

static void count(void) { statistics++; }

int main(void) {
    if (AnnotateBenignRaceSized)
        AnnotateBenignRaceSized(__FILE__, __LINE__, &statistics, sizeof statistics,
                                "a guess is enough");
    together(count, count);
    use(statistics);
}
