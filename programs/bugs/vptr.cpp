// A virtual call while the destructor is rewriting the vptr: ~Base runs with the
// vtable of Base, so the other thread calls the wrong function. (gcc does not
// mark reads of the vptr, so there it is a plain race.)
// expect: vptr|race
// shows: always
#include "../invisible.h"
#include <thread>

struct Base {
    virtual void work() {}
    virtual ~Base() {      // RACE
        invisible_step();
        invisible_await(2);
    }
};

struct Derived : Base {
    void work() override {}
    ~Derived() override {}
};

int main() {
    Base *object = new Derived;
    std::thread worker([&] {
        invisible_await(1);
        object->work();    // RACE
        invisible_step();
    });
    delete object;
    worker.join();
}
