// Different elements of a vector<bool> are bits of the same word.
// expect: race
// shows: always
#include <thread>
#include <vector>

int main() {
    std::vector<bool> flags(8);
    std::thread first([&] { flags[0] = true; });  // RACE
    std::thread second([&] { flags[1] = true; }); // RACE
    first.join();
    second.join();
}
