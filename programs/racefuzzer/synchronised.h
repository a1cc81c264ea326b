// Containers whose every method holds the container's lock, in the manner of Java's
// Collections.synchronizedList, and the methods that their common ancestor has for all
// of them: those go through another container by its iterator. The iterator is made
// with the lock held, as any method, but what it does later is done without
// (racefuzzer.txt §5.3).
#ifndef SYNCHRONISED_H
#define SYNCHRONISED_H

#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>

// What Java's iterators throw.
struct ConcurrentModification : std::logic_error {
    ConcurrentModification() : std::logic_error("ConcurrentModificationException") {}
};
struct NoSuchElement : std::logic_error {
    NoSuchElement() : std::logic_error("NoSuchElementException") {}
};

// Containers of the kind `C`: something with `add`, `contains`, `remove_all`, `size`
// and an `Iterator` with `has_next` and `next`.
template <class C> class Synchronised {
public:
    bool add(int value) {
        std::lock_guard<std::mutex> hold(lock);
        return inner.add(value);
    }

    bool contains(int value) {
        std::lock_guard<std::mutex> hold(lock);
        return inner.contains(value);
    }

    void remove_all() {
        std::lock_guard<std::mutex> hold(lock);
        inner.remove_all();
    }

    typename C::Iterator iterator() {
        std::lock_guard<std::mutex> hold(lock);
        return typename C::Iterator(inner);
    }

    // Goes through `other` without its lock.
    bool contains_all(Synchronised &other) {
        std::lock_guard<std::mutex> hold(lock);
        for (auto each = other.iterator(); each.has_next();)
            if (!inner.contains(each.next())) return false;
        return true;
    }

    void add_all(Synchronised &other) {
        std::lock_guard<std::mutex> hold(lock);
        for (auto each = other.iterator(); each.has_next();) inner.add(each.next());
    }

    bool equals(Synchronised &other) {
        std::lock_guard<std::mutex> hold(lock);
        auto mine = typename C::Iterator(inner);
        auto others = other.iterator();
        while (mine.has_next() && others.has_next())
            if (mine.next() != others.next()) return false;
        return !mine.has_next() && !others.has_next();
    }

private:
    std::mutex lock;
    C inner;
};

// The test driver: two containers, and threads that call different methods of them.
template <class C> int drive(void (*asks)(Synchronised<C> &, Synchronised<C> &)) {
    static Synchronised<C> one, two;
    for (int i = 0; i < 6; i++) {
        one.add(i);
        two.add(i);
    }
    std::thread asking(asks, std::ref(one), std::ref(two));
    std::thread changing([] {
        two.add(6);
        two.remove_all();
    });
    asking.join();
    changing.join();
    return 0;
}

#endif
