// racefuzzer.txt Figure 2, with as many statements before statement 8 as the argument
// says: statement 10 is reached at once.
#include "../../../programs/threads.h"
#include <stdio.h>

static int x;
static long padding, done;
static pthread_mutex_t L = PTHREAD_MUTEX_INITIALIZER;

static void work(void) {
    for (long i = 0; i < padding; i++) done++;
}

static void thread1(void) {
    pthread_mutex_lock(&L);   // 1
    work();                   // 2 to 6
    pthread_mutex_unlock(&L); // 7
    if (x == 0)               // 8
        puts("ERROR");        // 9
}

static void thread2(void) {
    x = 1;                    // 10
    pthread_mutex_lock(&L);   // 11
    use(padding);             // 12
    pthread_mutex_unlock(&L); // 13
}

int main(int count, char **arguments) {
    padding = count > 1 ? atol(arguments[1]) : 10;
    together(thread2, thread1);
}
