// Each step is locked, the two together are not: both withdrawals may find enough
// money. No race.
// expect: atomicity
// shows: never
// harm: abort
#include "../threads.h"

static int balance = 100;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE int get(void) {
    pthread_mutex_lock(&lock);
    int value = balance; // HERE
    pthread_mutex_unlock(&lock);
    return value;
}

static NOINLINE void take(int amount) {
    pthread_mutex_lock(&lock);
    balance -= amount; // HERE
    if (balance < 0) abort();
    pthread_mutex_unlock(&lock);
}

static void withdraw(void) {
    if (get() >= 70) take(70);
}

static void withdraw_later(void) {
    usleep(20000);
    withdraw();
}

int main(void) { together(withdraw, withdraw_later); }
