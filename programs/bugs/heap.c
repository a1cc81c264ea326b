// A race in a block from malloc.
// expect: race
// shows: always
#include "../threads.h"

struct account { long owner, balance; };

static struct account *account;

static void deposit(void) { account->balance += 10; }  // RACE
static void withdraw(void) { account->balance -= 10; } // RACE

int main(void) {
    account = calloc(1, sizeof *account);
    together(deposit, withdraw);
    free(account);
}
