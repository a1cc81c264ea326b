/*
 * A hash map with striped locks: threads add to and look up the same keys, each
 * bucket a list under one of many locks.
 */
#include "harness.h"

#define BUCKETS 4096
#define STRIPES 64
#define KEYS 20000

struct entry {
    struct entry *next;
    uint64_t key, total;
};

static struct entry *buckets[BUCKETS];
static pthread_mutex_t stripes[STRIPES];

static uint64_t mixed(uint64_t key) { return (key * 0xff51afd7ed558ccdu) >> 32; }

static void add(uint64_t key, uint64_t amount) {
    uint64_t hash = mixed(key);
    pthread_mutex_t *lock = &stripes[hash % STRIPES];
    struct entry **bucket = &buckets[hash % BUCKETS];
    pthread_mutex_lock(lock);
    struct entry *entry = *bucket;
    while (entry != NULL && entry->key != key)
        entry = entry->next;
    if (entry == NULL) {
        entry = (struct entry *)malloc(sizeof *entry);
        entry->next = *bucket;
        entry->key = key;
        entry->total = 0;
        *bucket = entry;
    }
    entry->total += amount;
    pthread_mutex_unlock(lock);
}

static void work(int me) {
    uint64_t random = seed(me);
    for (long i = 0; i < scaled(4000000) / threads; i++) {
        uint64_t choice = next_random(&random);
        add(choice % KEYS, choice >> 40);
    }
}

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_init(&stripes[i], NULL);
    in_threads(work);
    uint64_t sum = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (struct entry *entry = buckets[i], *next; entry != NULL; entry = next) {
            sum += mixed(entry->key ^ entry->total);
            next = entry->next;
            free(entry);
        }
    return print_checksum(sum);
}
