// Different bytes of one word, written by different threads: no race, however close.
#include "../threads.h"
#include <assert.h>

static struct {
    char a, b;
    short c;
    int d;
} word;

static void first(void) { for (int i = 0; i < 100; i++) word.a++; }
static void second(void) { for (int i = 0; i < 100; i++) word.b++; }
static void third(void) { for (int i = 0; i < 100; i++) word.c++; }
static void fourth(void) { for (int i = 0; i < 100; i++) word.d++; }

int main(void) {
    together(first, second, third, fourth);
    assert(word.a == 100 && word.b == 100 && word.c == 100 && word.d == 100);
}
