// pthread_once: whoever comes second sees what the first has built.
#include "../threads.h"
#include <assert.h>

static int table[10], builds;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void build(void) {
    builds++;
    for (int i = 0; i < 10; i++) table[i] = i * i;
}

static void client(void) {
    pthread_once(&once, build);
    if (table[9] != 81) abort();
}

int main(void) {
    together(client, client, client, client);
    assert(builds == 1);
}
