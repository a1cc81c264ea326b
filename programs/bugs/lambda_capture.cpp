// A lambda captures by reference what its creator goes on changing.
// expect: race
// shows: always
#include <future>

int main() {
    int total = 0;
    auto job = std::async(std::launch::async, [&] { total += 1; }); // RACE
    total += 2;                                                     // RACE
    job.get();
    return total == 0;
}
