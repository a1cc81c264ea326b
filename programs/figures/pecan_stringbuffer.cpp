// pecan.txt Table 1: the JDK's StringBuffer. append(sb) asks sb for its length and
// then for its characters, each under sb's lock; between the two, another thread
// may shorten sb. An atomicity violation without a race.
// expect: atomicity
// shows: never
// harm: abort
#include <chrono>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>

class StringBuffer { // java.lang.StringBuffer: an array and how much of it is in use
    std::mutex monitor;
    char value[16];
    size_t count;

public:
    explicit StringBuffer(const char *text) : count(std::strlen(text)) {
        for (size_t i = 0; i < count; i++) value[i] = text[i];
    }

    size_t length() {
        std::lock_guard<std::mutex> synchronized(monitor);
        return count;                                 // HERE
    }
    void getChars(size_t end, char *into) {
        std::lock_guard<std::mutex> synchronized(monitor);
        if (end > count)                              // HERE
            throw std::out_of_range("StringIndexOutOfBoundsException");
        for (size_t i = 0; i < end; i++) into[i] = value[i];
    }
    void setLength(size_t length) {
        std::lock_guard<std::mutex> synchronized(monitor);
        count = length;                               // HERE
    }
    void append(StringBuffer &sb) {
        std::lock_guard<std::mutex> synchronized(monitor);
        size_t len = sb.length();
        sb.getChars(len, value + count);
        count += len;
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
