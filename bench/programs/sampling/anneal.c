/*
 * Places the elements of a circuit by simulated annealing, all threads on the same
 * elements without a lock: the algorithm lives with the races on their places, on the
 * temperature and on what was accepted.
 */
#include "../harness.h"

#define ELEMENTS 20000
#define WIRES 6

static struct element {
    int x, y;
    int wires[WIRES];
} elements[ELEMENTS];
static double temperature = 2000;
static long accepted, rejected;
static pthread_barrier_t step;

FUNCTION long length(const struct element *e, int x, int y) {
    long sum = 0;
    for (int i = 0; i < WIRES; i++) {
        const struct element *other = &elements[e->wires[i]];
        sum += labs(x - other->x) + labs(y - other->y);
    }
    return sum;
}

FUNCTION long gain(const struct element *a, const struct element *b) {
    long now = length(a, a->x, a->y) + length(b, b->x, b->y);
    long then = length(a, b->x, b->y) + length(b, a->x, a->y);
    return now - then;
}

FUNCTION void exchange(struct element *a, struct element *b) {
    int x = a->x, y = a->y;
    a->x = b->x, a->y = b->y;
    b->x = x, b->y = y;
}

FUNCTION int is_accepted(long gain, uint64_t random) {
    if (gain > 0) {
        accepted++;
        return 1;
    }
    if ((double)-gain * (double)(random % 1000) < temperature) {
        accepted++;
        return 1;
    }
    rejected++;
    return 0;
}

FUNCTION void cool(void) { temperature *= 0.8; }

FUNCTION void moves(uint64_t *random, long count) {
    for (long i = 0; i < count; i++) {
        struct element *a = &elements[next_random(random) % ELEMENTS];
        struct element *b = &elements[next_random(random) % ELEMENTS];
        if (a != b && is_accepted(gain(a, b), next_random(random)))
            exchange(a, b);
    }
}

static void work(int me) {
    uint64_t random = 100 + (uint64_t)me;
    for (long i = 0; i < 12; i++) {
        moves(&random, scaled(1500));
        if (i % 4 == 3)
            pthread_barrier_wait(&step);
        if (me == 0)
            cool();
    }
}

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    uint64_t random = 3;
    for (int i = 0; i < ELEMENTS; i++) {
        elements[i].x = i % 200;
        elements[i].y = i / 200;
        for (int k = 0; k < WIRES; k++)
            elements[i].wires[k] = (int)(next_random(&random) % ELEMENTS);
    }
    pthread_barrier_init(&step, NULL, (unsigned)threads);
    in_threads(work);
    printf("%d\n", accepted + rejected > 0);
    return 0;
}
