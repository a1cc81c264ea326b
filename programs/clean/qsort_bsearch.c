// qsort and bsearch with callbacks that are instrumented code, from several threads.
#include "../threads.h"
#include <assert.h>

static int compare(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

static void worker(void) {
    int numbers[500];
    for (int i = 0; i < 500; i++) numbers[i] = i * 7919 % 500;
    qsort(numbers, 500, sizeof numbers[0], compare);
    int key = 123;
    assert(*(int *)bsearch(&key, numbers, 500, sizeof numbers[0], compare) == 123);
}

int main(void) { together(worker, worker); }
