// operator[] on a std::map inserts: two "readers" change the tree.
// expect: race
// shows: always
#include <map>
#include <thread>

int main() {
    std::map<int, int> table;
    std::thread a([&] { table[1]++; }); // RACE
    std::thread b([&] { table[2]++; }); // RACE
    a.join();
    b.join();
}
