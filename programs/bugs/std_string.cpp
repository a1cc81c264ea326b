// std::string is not synchronised: one thread appends while another reads.
// expect: race
// shows: always
#include <string>
#include <thread>

int main() {
    std::string text = "short";
    std::thread writer([&] { text[0] = 'S'; });             // RACE
    std::thread reader([&] { volatile char c = text[0]; (void)c; }); // RACE
    writer.join();
    reader.join();
}
