// Transfers in both directions: std::scoped_lock takes both locks by trying, and gives back
// what it has if it does not get all.
#include <cassert>
#include <mutex>
#include <thread>

struct Account {
    std::mutex lock;
    long balance = 100;
};

static Account one, other;

static void transfer(Account &from, Account &to, long amount) {
    std::scoped_lock guard(from.lock, to.lock);
    if (from.balance < amount) return;
    from.balance -= amount;
    to.balance += amount;
}

int main() {
    std::thread there([] {
        for (int i = 0; i < 3; i++) transfer(one, other, 30);
    });
    std::thread back([] {
        for (int i = 0; i < 3; i++) transfer(other, one, 20);
    });
    there.join();
    back.join();
    assert(one.balance + other.balance == 200);
}
