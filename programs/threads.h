// What most programs of the gallery share, so that each can get to its point.
// C only; must be included first.
#ifndef THREADS_H
#define THREADS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

typedef void (*thread_body)(void);

static inline void *run_thread_body(void *body) {
    (*(thread_body *)body)();
    return NULL;
}

static inline void start_and_join(thread_body *bodies, int count) {
    pthread_t threads[64];
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, run_thread_body, &bodies[i]) != 0) abort();
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

// together(f, g, ...): runs each function in a thread of its own, started in
// this order, and waits for all of them.
#define together(...)                                                          \
    start_and_join((thread_body[]){__VA_ARGS__},                               \
                   (int)(sizeof((thread_body[]){__VA_ARGS__}) / sizeof(thread_body)))

// A function that stays a function of its own: neither inlined, nor folded with
// another that happens to have the same body.
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

// use(v): v must have been computed, whatever the optimiser thinks of it.
#define use(value) __asm__ volatile("" : : "r"(value) : "memory")

#endif
