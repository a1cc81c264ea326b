// A small bank. Deposits are locked; the audit looks at the balance without the
// lock, and everybody counts the customers served.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static int balance, served;

static void *deposit(void *unused) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&accounts);
        balance += 10;
        pthread_mutex_unlock(&accounts);
    }
    served++;
    return unused;
}

static void *audit(void *unused) {
    printf("balance: %d\n", balance);
    served++;
    return unused;
}

int main(void) {
    pthread_t teller, auditor;
    pthread_create(&teller, NULL, deposit, NULL);
    pthread_create(&auditor, NULL, audit, NULL);
    pthread_join(teller, NULL);
    pthread_join(auditor, NULL);
    printf("served: %d\n", served);
}
