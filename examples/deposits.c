// Two deposits at once. Every access to the balance holds the lock, so there is no
// race for a race detector to see; and yet a deposit can be lost.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static int get_balance(void) {
    pthread_mutex_lock(&accounts);
    int now = balance;
    pthread_mutex_unlock(&accounts);
    return now;
}

static void set_balance(int value) {
    pthread_mutex_lock(&accounts);
    balance = value;
    pthread_mutex_unlock(&accounts);
}

static void *deposit(void *amount) {
    set_balance(get_balance() + *(int *)amount);
    return NULL;
}

int main(void) {
    int ten = 10, twenty = 20;
    pthread_t ann, bob;
    pthread_create(&ann, NULL, deposit, &ten);
    pthread_create(&bob, NULL, deposit, &twenty);
    pthread_join(ann, NULL);
    pthread_join(bob, NULL);
    printf("balance %d\n", balance);
    assert(balance == 130);
}
