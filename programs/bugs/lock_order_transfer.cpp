// transfer(a, b) locks a, then b; transfer(b, a) the other way round.
// expect: lock-order-inversion
// shows: always
// harm: hang
#include <chrono>
#include <mutex>
#include <thread>

struct Account {
    std::mutex lock;
    long balance = 100;
};

static void transfer(Account &from, Account &to, long amount) {
    std::lock_guard<std::mutex> first(from.lock); // HERE
    std::lock_guard<std::mutex> second(to.lock);  // HERE
    from.balance -= amount;
    to.balance += amount;
}

int main() {
    Account a, b;
    std::thread there([&] { transfer(a, b, 10); });
    std::thread back([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        transfer(b, a, 20);
    });
    there.join();
    back.join();
    return a.balance + b.balance != 200;
}
