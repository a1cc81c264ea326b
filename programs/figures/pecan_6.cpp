// pecan.txt Figure 6: OpenJMS reads its field under `synchronized (this)` and
// writes it outside. The reader that comes too early throws.
// expect: race
// shows: sometimes
// harm: abort
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

struct Multiplexer { int channels; };

class MultiplexedManagedConnection {
    std::mutex monitor;
    Multiplexer *_multiplexer = nullptr;

public:
    void setInvocationHandler(Multiplexer *created) {
        _multiplexer = created;                          // 1: RACE
    }

    Multiplexer *invoke() {
        Multiplexer *multiplexer;
        {
            std::lock_guard<std::mutex> synchronized(monitor);
            multiplexer = _multiplexer;                  // 2: RACE
        }
        if (multiplexer == nullptr) throw std::runtime_error("ResourceException");
        return multiplexer;
    }
};

int main() {
    Multiplexer multiplexer{1};
    MultiplexedManagedConnection connection;
    std::thread handler([&] { connection.setInvocationHandler(&multiplexer); });
    std::thread client([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        connection.invoke();
    });
    handler.join();
    client.join();
}
