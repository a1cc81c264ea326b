// A flag and a lock in memory that is mapped twice: what they order, they order by either address.
#include "../threads.h"
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

struct shared {
    atomic_int flag;
    pthread_mutex_t lock;
};

static struct shared *here, *there;
static long payload, count;

static void add(struct shared *shared) {
    pthread_mutex_lock(&shared->lock);
    count++;
    pthread_mutex_unlock(&shared->lock);
}

static void giver(void) {
    payload = 42;
    atomic_store_explicit(&there->flag, 1, memory_order_release);
    add(there);
}

static void taker(void) {
    add(here);
    while (!atomic_load_explicit(&here->flag, memory_order_acquire)) sched_yield();
    if (payload != 42) abort();
}

int main(void) {
    int file = memfd_create("twice", 0);
    if (ftruncate(file, sizeof *here)) return 1;
    here = mmap(NULL, sizeof *here, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    there = mmap(NULL, sizeof *here, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&here->lock, &shared);
    together(giver, taker);
    return count != 2;
}
