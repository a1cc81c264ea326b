// A thread reads twice under a read-write lock that prefers writers: one that comes in
// between waits for the first read to end, and the second one waits for the writer.
// expect: deadlock
#include "../threads.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static int prices[2] = {10, 20};

static int price(int article) {
    pthread_rwlock_rdlock(&lock); // HERE
    int found = prices[article];
    pthread_rwlock_unlock(&lock);
    return found;
}

static void customer(void) {
    pthread_rwlock_rdlock(&lock);
    int sum = price(0) + price(1); // should use the prices as they are: it has the lock
    pthread_rwlock_unlock(&lock);
    use(sum);
}

static void clerk(void) {
    pthread_rwlock_wrlock(&lock); // HERE
    prices[0]++;
    prices[1]--;
    pthread_rwlock_unlock(&lock);
}

int main(void) { together(customer, clerk); }
