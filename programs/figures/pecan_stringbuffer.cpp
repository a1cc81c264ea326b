// pecan.txt Table 1: the JDK's StringBuffer. append(sb) asks sb for its length and
// then for its characters, each under sb's lock; between the two, another thread
// may shorten sb. An atomicity violation without a race.
// expect: atomicity
// shows: never
// harm: abort
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

class StringBuffer {
    std::mutex monitor;
    std::string value;

public:
    explicit StringBuffer(const char *text) : value(text) {}

    size_t length() {
        std::lock_guard<std::mutex> synchronized(monitor);
        return value.size();                          // HERE
    }
    void getChars(size_t count, std::string &into) {
        std::lock_guard<std::mutex> synchronized(monitor);
        if (count > value.size())                     // HERE
            throw std::out_of_range("StringIndexOutOfBoundsException");
        into.append(value, 0, count);
    }
    void setLength(size_t count) {
        std::lock_guard<std::mutex> synchronized(monitor);
        value.resize(count);                          // HERE
    }
    void append(StringBuffer &sb) {
        std::lock_guard<std::mutex> synchronized(monitor);
        size_t len = sb.length();
        sb.getChars(len, value);
    }
};

int main() {
    StringBuffer al1("ab"), al2("cd");
    std::thread appender([&] { al1.append(al2); });
    std::thread cutter([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        al2.setLength(0);
    });
    appender.join();
    cutter.join();
}
