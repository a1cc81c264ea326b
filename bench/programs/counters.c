/*
 * Lock-heavy: many short critical sections, each about a few words of one of
 * sixteen records, which all threads use.
 */
#include "harness.h"

#define RECORDS 16

static struct record {
    pthread_mutex_t lock;
    uint64_t count, sum, squares;
    char apart[64];
} records[RECORDS];

static void count(int me) {
    uint64_t random = seed(me);
    for (long i = scaled(1600000) / threads; i > 0; i--) {
        uint64_t value = next_random(&random);
        struct record *record = &records[value % RECORDS];
        pthread_mutex_lock(&record->lock);
        record->count++;
        record->sum += value;
        record->squares += value * value;
        pthread_mutex_unlock(&record->lock);
    }
}

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    for (int i = 0; i < RECORDS; i++)
        pthread_mutex_init(&records[i].lock, NULL);
    for (int phase = 0; phase < 10; phase++)
        in_threads(count);
    uint64_t sum = 0;
    for (int i = 0; i < RECORDS; i++)
        sum = sum * 31 + (records[i].count ^ records[i].sum ^ records[i].squares);
    return print_checksum(sum);
}
