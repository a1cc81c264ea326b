// Account of Table 1: a transfer locks the account that pays, and not the one that is
// paid; so two transfers may get in each other's way there, and whoever adds up both
// accounts may do so while a transfer is under way.
// expect: race
// shows: sometimes
// harm: abort
#include <assert.h>
#include <pthread.h>

struct account {
    pthread_mutex_t lock;
    int amount, transfers;
};

static struct account ours = {PTHREAD_MUTEX_INITIALIZER, 100, 0};
static struct account theirs = {PTHREAD_MUTEX_INITIALIZER, 100, 0};

static void transfer(struct account *from, struct account *to, int amount) {
    pthread_mutex_lock(&from->lock);
    from->amount -= amount; // RACE
    to->amount += amount; // RACE
    from->transfers++;
    pthread_mutex_unlock(&from->lock);
}

static void *pay(void *unused) {
    transfer(&ours, &theirs, 10);
    return unused;
}

static void *pay_back(void *unused) {
    transfer(&theirs, &ours, 20);
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, pay, 0);
    pthread_create(&second, 0, pay_back, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    assert(ours.amount == 110 && theirs.amount == 90);
    return ours.transfers + theirs.transfers - 2;
}
