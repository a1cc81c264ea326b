/*
 * Pointer chasing: each thread goes around a list of its own, whose nodes are
 * scattered, and searches a tree that all threads read.
 */
#include "harness.h"

#define NODES (1 << 15)
#define KEYS (1 << 14)

struct node {
    struct node *next;
    uint64_t value;
};

struct branch {
    struct branch *less, *more;
    uint32_t key, found;
};

static struct branch branches[KEYS];
static uint64_t sums[MOST_THREADS];

static struct branch *plant(uint32_t from, uint32_t to) {
    if (from == to)
        return NULL;
    uint32_t middle = from + (to - from) / 2;
    struct branch *branch = &branches[middle];
    branch->key = middle * 3;
    branch->found = middle ^ 0x55;
    branch->less = plant(from, middle);
    branch->more = plant(middle + 1, to);
    return branch;
}

static struct branch *search(struct branch *tree, uint32_t key) {
    while (tree != NULL && tree->key != key)
        tree = key < tree->key ? tree->less : tree->more;
    return tree;
}

static struct node *scattered_ring(struct node *nodes, uint64_t random) {
    for (int i = 0; i < NODES; i++) {
        nodes[i].next = &nodes[i];
        nodes[i].value = next_random(&random);
    }
    /* Exchanging successors across rings joins them: one ring in the end. */
    for (int i = NODES - 1; i > 0; i--) {
        struct node *other = &nodes[next_random(&random) % (uint64_t)i];
        struct node *next = nodes[i].next;
        nodes[i].next = other->next;
        other->next = next;
    }
    return nodes;
}

static void chase(int me) {
    struct node *nodes = (struct node *)malloc(NODES * sizeof *nodes);
    struct node *at = scattered_ring(nodes, seed(me));
    uint64_t sum = 0;
    for (long i = 0; i < scaled(12000000) / threads; i++) {
        sum += at->value;
        at->value = sum;
        at = at->next;
    }
    for (long i = 0; i < scaled(900000) / threads; i++) {
        struct branch *found = search(&branches[KEYS / 2], (uint32_t)(i * 7) % (KEYS * 3));
        sum += found == NULL ? 1 : found->found;
    }
    sums[me] = sum;
    free(nodes);
}

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    plant(0, KEYS);
    in_threads(chase);
    uint64_t sum = 0;
    for (int i = 0; i < threads; i++)
        sum = sum * 31 + sums[i];
    return print_checksum(sum);
}
