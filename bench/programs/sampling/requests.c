/*
 * A server's threads and the requests they answer: a few kinds often, others seldom. The
 * tables are locked; the counters of the rare kinds, a log level and the time of the last
 * flush are not, so each race takes two requests of certain kinds at the same time.
 */
#include "../harness.h"

#define KEYS 1024
#define LOCKS 16

static struct entry {
    uint64_t key, value, used;
} table[KEYS];
static pthread_mutex_t locks[LOCKS];
static long hits, misses, flushes, last_flush, log_level, audits, slow;
static uint64_t digest[32];

FUNCTION uint64_t hash(uint64_t key) {
    uint64_t h = key;
    for (int i = 0; i < 8; i++)
        h = (h ^ digest[(h + (uint64_t)i) % 32]) * 0x100000001b3;
    return h;
}

FUNCTION uint64_t get(uint64_t key) {
    uint64_t at = hash(key) % KEYS;
    pthread_mutex_lock(&locks[at % LOCKS]);
    uint64_t found = table[at].key == key ? table[at].value : 0;
    table[at].used++;
    pthread_mutex_unlock(&locks[at % LOCKS]);
    return found;
}

FUNCTION void put(uint64_t key, uint64_t value) {
    uint64_t at = hash(key) % KEYS;
    pthread_mutex_lock(&locks[at % LOCKS]);
    table[at].key = key;
    table[at].value = value;
    pthread_mutex_unlock(&locks[at % LOCKS]);
}

FUNCTION uint64_t render(uint64_t value) {
    char text[64];
    for (int i = 0; i < 64; i++)
        text[i] = (char)(value >> (i % 32));
    uint64_t sum = 0;
    for (int i = 0; i < 64; i++)
        sum = sum * 31 + (uint64_t)text[i];
    return sum;
}

FUNCTION void scan(long from, long to) {
    uint64_t sum = 0;
    for (long i = from; i < to; i++) {
        pthread_mutex_lock(&locks[i % LOCKS]);
        sum += table[i].used;
        pthread_mutex_unlock(&locks[i % LOCKS]);
    }
    if (sum > 1000000)
        slow++;
}

FUNCTION void flush(long now) {
    flushes++;
    last_flush = now;
}

FUNCTION void audit(void) {
    audits++;
    if (last_flush > 0)
        log_level = audits % 3;
}

FUNCTION void set_level(long level) { log_level = level; }

FUNCTION void request(uint64_t random, long now) {
    uint64_t key = random % 3000 + 1;
    uint64_t value = get(key);
    if (value != 0)
        hits++;
    else
        put(key, random);
    if (render(value) == 42)
        misses++;
    switch (random / 3000 % 1000) {
    case 0: flush(now); break;
    case 1: audit(); break;
    case 2: set_level((long)(random % 4)); break;
    case 3: scan(0, 64); break;
    default: break;
    }
}

static void work(int me) {
    uint64_t random = 31 + (uint64_t)me;
    for (long i = 0; i < scaled(20000); i++)
        request(next_random(&random), i);
}

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&locks[i], NULL);
    for (int i = 0; i < 32; i++)
        digest[i] = (uint64_t)i * 0x9e3779b97f4a7c15;
    in_threads(work);
    printf("%d\n", hits + misses + flushes > 0);
    return 0;
}
