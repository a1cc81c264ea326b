/*
 * What the programs share. Each is started as `PROGRAM [PERCENT [THREADS]]`: how
 * much of its usual work it is to do, and in how many threads. All of them print
 * one checksum, which depends on these two numbers and never on timing.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_THREADS 64

/* A function that stays one, as if it were in a source of its own. */
#define FUNCTION static __attribute__((noinline))

static long percent = 100;
static int threads;

static inline void parameters(int argc, char **argv, int usual_threads) {
    percent = argc > 1 ? atol(argv[1]) : 100;
    threads = argc > 2 ? atoi(argv[2]) : usual_threads;
    if (percent < 1 || threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: %s [PERCENT [THREADS]]\n", argv[0]);
        exit(2);
    }
}

/* This much of an amount of work, but some. */
static inline long scaled(long usual) {
    long amount = usual * percent / 100;
    return amount > 0 ? amount : 1;
}

/* Where the share of a thread in `amount` begins; that of the next one is its end. */
static inline long share(long amount, int thread) { return amount * thread / threads; }

struct harness_thread {
    pthread_t id;
    int number;
    void (*work)(int number);
};

static inline void *harness_start(void *argument) {
    struct harness_thread *thread = (struct harness_thread *)argument;
    thread->work(thread->number);
    return NULL;
}

/* Runs `work` in all threads, which learn their numbers, and waits for them. */
static inline void in_threads(void (*work)(int number)) {
    struct harness_thread all[MOST_THREADS];
    for (int i = 0; i < threads; i++) {
        all[i].number = i;
        all[i].work = work;
        if (pthread_create(&all[i].id, NULL, harness_start, &all[i]) != 0)
            exit(3);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(all[i].id, NULL);
}

/* The next of a sequence of pseudo-random numbers (xorshift); the seed is not 0. */
static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline uint64_t seed(int thread) {
    return 0x9e3779b97f4a7c15u * (uint64_t)(thread + 1);
}

static inline int print_checksum(uint64_t sum) {
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}

#endif
