// AnnotateHappensBefore and -After state an order that the code does not show.
#include "../threads.h"
#include <stdatomic.h>

void AnnotateHappensBefore(const char *file, int line, const volatile void *address)
    __attribute__((weak));
void AnnotateHappensAfter(const char *file, int line, const volatile void *address)
    __attribute__((weak));

static long payload;
static atomic_int flag;

static void producer(void) {
    payload = 42;
    if (AnnotateHappensBefore) AnnotateHappensBefore(__FILE__, __LINE__, &flag);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
}

static void consumer(void) {
    while (!atomic_load_explicit(&flag, memory_order_relaxed)) usleep(100);
    if (AnnotateHappensAfter) AnnotateHappensAfter(__FILE__, __LINE__, &flag);
    use(payload);
}

int main(void) { together(producer, consumer); }
