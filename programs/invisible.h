// An order in time that no race detector can see: a count of steps, kept
// without instrumentation and waited for by polling. It orders nothing in the
// happens-before relation, so what it separates in time still races.
#ifndef INVISIBLE_H
#define INVISIBLE_H

#include <unistd.h>

#define UNSEEN __attribute__((no_sanitize("thread"), noinline, unused))

static volatile int invisible_steps;

// One more step is taken. One thread at a time, please: `++` is not atomic.
UNSEEN static void invisible_step(void) {
    __asm__ volatile("" : : : "memory");
    invisible_steps = invisible_steps + 1;
}

// Returns when `count` steps have been taken.
UNSEEN static void invisible_await(int count) {
    while (invisible_steps < count) usleep(500);
    __asm__ volatile("" : : : "memory");
}

// Whether `count` steps have been taken.
UNSEEN static int invisible_reached(int count) {
    __asm__ volatile("" : : : "memory");
    return invisible_steps >= count;
}

#endif
