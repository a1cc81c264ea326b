// qsort itself is innocent; the comparison function counts its calls.
// expect: race
// shows: always
#include "../threads.h"

static int calls;

static int compare(const void *a, const void *b) {
    calls++; // RACE
    return *(const int *)a - *(const int *)b;
}

static void sorter(void) {
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof numbers[0], compare);
}

int main(void) {
    together(sorter, sorter);
    return calls == 0;
}
