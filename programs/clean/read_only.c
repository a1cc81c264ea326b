// Many threads read what was written before they started.
#include "../threads.h"

static long table[1000];

static void reader(void) {
    long sum = 0;
    for (int i = 0; i < 1000; i++) sum += table[i];
    if (sum != 499500) abort();
}

int main(void) {
    for (int i = 0; i < 1000; i++) table[i] = i;
    together(reader, reader, reader, reader, reader, reader);
}
