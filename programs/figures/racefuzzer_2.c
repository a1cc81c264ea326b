// racefuzzer.txt Figure 2: a real race (8, 10) that is hard to reproduce: 10 is
// reached at once, 8 only after a lot of work, and L comes between them.
// expect: race
// shows: sometimes
// harm: abort
#include "../threads.h"
#include <stdio.h>

static int x;
static pthread_mutex_t L = PTHREAD_MUTEX_INITIALIZER;

static void work(void) {
    for (int i = 0; i < 20000; i++) use(i);
}

static void f1(void) { work(); }
static void f2(void) { work(); }
static void f3(void) { work(); }
static void f4(void) { work(); }
static void f5(void) { work(); }
static void f6(void) { work(); }

static void thread1(void) {
    pthread_mutex_lock(&L);   // 1
    f1();                     // 2
    f2();                     // 3
    f3();                     // 4
    f4();                     // 5
    f5();                     // 6
    pthread_mutex_unlock(&L); // 7
    if (x == 0) {             // 8: RACE
        puts("ERROR");        // 9
        abort();
    }
}

static void thread2(void) {
    x = 1;                    // 10: RACE
    pthread_mutex_lock(&L);   // 11
    f6();                     // 12
    pthread_mutex_unlock(&L); // 13
}

int main(void) { together(thread2, thread1); }
