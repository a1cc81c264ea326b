/*
 * Clusters points as they stream in: each round, all threads sum up what a new centre
 * would save, meet at a barrier, and one of them decides. The count of open centres and
 * a flag that says who may stop are read before the barrier, and written without it.
 */
#include "../harness.h"

#define POINTS 2000
#define DIMENSIONS 16

static struct point {
    float at[DIMENSIONS];
    float cost;
    int centre;
} points[POINTS];
static double saved[MOST_THREADS];
static char is_centre[POINTS];
static int centres, candidate, enough;
static long evaluated;
static pthread_barrier_t round_over;

FUNCTION float distance(const struct point *a, const struct point *b) {
    float sum = 0;
    for (int i = 0; i < DIMENSIONS; i++)
        sum += (a->at[i] - b->at[i]) * (a->at[i] - b->at[i]);
    return sum;
}

FUNCTION double saving(int from, int to, int centre) {
    double sum = 0;
    for (int i = from; i < to; i++) {
        float cost = distance(&points[i], &points[centre]);
        if (cost < points[i].cost)
            sum += points[i].cost - cost;
    }
    evaluated += to - from;
    return sum;
}

FUNCTION void assign(int from, int to, int centre) {
    for (int i = from; i < to; i++) {
        float cost = distance(&points[i], &points[centre]);
        if (cost < points[i].cost) {
            points[i].cost = cost;
            points[i].centre = centre;
        }
    }
}

FUNCTION void decide(void) {
    double total = 0;
    for (int i = 0; i < threads; i++)
        total += saved[i];
    is_centre[candidate] = total > 50;
    if (is_centre[candidate])
        centres++;
    if (centres > 40)
        enough = 1;
}

FUNCTION int count_centres(void) {
    int count = 0;
    for (int i = 0; i < POINTS; i += 64)
        count += is_centre[i];
    return count;
}

static void work(int me) {
    int from = (int)share(POINTS, me), to = (int)share(POINTS, me + 1);
    for (long round = 0; round < scaled(30); round++) {
        int mine = candidate;
        saved[me] = saving(from, to, mine);
        if (enough || centres > 1000)
            saved[me] = 0;
        pthread_barrier_wait(&round_over);
        if (me == 0)
            decide();
        pthread_barrier_wait(&round_over);
        if (is_centre[mine])
            assign(from, to, mine);
        if (me == 0)
            candidate = (candidate + 617) % POINTS;
        if (round % 16 == 15 && me == threads - 1)
            saved[me] += count_centres();
        pthread_barrier_wait(&round_over);
    }
}

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    uint64_t random = 11;
    for (int i = 0; i < POINTS; i++) {
        for (int k = 0; k < DIMENSIONS; k++)
            points[i].at[k] = (float)(next_random(&random) % 100) / 10;
        points[i].cost = 1e6f;
    }
    pthread_barrier_init(&round_over, NULL, (unsigned)threads);
    in_threads(work);
    printf("%d\n", evaluated > 0 && centres > 0);
    return 0;
}
