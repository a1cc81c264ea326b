// Containers whose every method holds the container's lock, in the manner of Java's
// Collections.synchronizedList, and the methods that their common ancestor has for all
// of them: those go through another container by its iterator. The iterator is made
// with the lock held, as any method, but what it does later is done without
// (racefuzzer.txt §5.3).
#ifndef SYNCHRONISED_H
#define SYNCHRONISED_H

#include <algorithm>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

// What Java's iterators throw.
struct ConcurrentModification : std::logic_error {
    ConcurrentModification() : std::logic_error("ConcurrentModificationException") {}
};
struct NoSuchElement : std::logic_error {
    NoSuchElement() : std::logic_error("NoSuchElementException") {}
};

// Containers of the kind `C`: something with `add`, `remove`, `clear`, `contains`,
// `size`, `to_array` and an `Iterator` with `has_next` and `next`. What they do with another
// container `other` is up to them, with the help of `Collection`.
template <class C> class Synchronised {
    using Lock = std::lock_guard<std::mutex>;

public:
    bool add(int value) {
        Lock hold(lock);
        return inner.add(value);
    }

    bool remove(int value) {
        Lock hold(lock);
        return inner.remove(value);
    }

    void clear() {
        Lock hold(lock);
        inner.clear();
    }

    bool contains(int value) {
        Lock hold(lock);
        return inner.contains(value);
    }

    int size() {
        Lock hold(lock);
        return inner.size();
    }

    std::vector<int> to_array() {
        Lock hold(lock);
        return inner.to_array();
    }

    typename C::Iterator iterator() {
        Lock hold(lock);
        return typename C::Iterator(inner);
    }

    bool contains_all(Synchronised &other) {
        Lock hold(lock);
        return inner.contains_all(other);
    }

    bool equals(Synchronised &other) {
        Lock hold(lock);
        return inner.equals(other);
    }

    void add_all(Synchronised &other) {
        Lock hold(lock);
        inner.add_all(other);
    }

    void remove_all(Synchronised &other) {
        Lock hold(lock);
        inner.remove_all(other);
    }

private:
    std::mutex lock;
    C inner;
};

// The ancestor, called AbstractCollection in Java. It goes through `other` without the
// lock of that.
template <class C> class Collection {
    C &self() { return static_cast<C &>(*this); }

public:
    template <class Other> bool contains_all(Other &other) {
        for (auto each = other.iterator(); each.has_next();)
            if (!self().contains(each.next())) return false;
        return true;
    }

    template <class Other> void add_all(Other &other) {
        for (auto each = other.iterator(); each.has_next();) self().add(each.next());
    }

    // Each element of its own is looked for in the other one, with the lock of that.
    template <class Other> void remove_all(Other &other) {
        std::vector<int> found;
        for (auto each = typename C::Iterator(self()); each.has_next();) {
            int value = each.next();
            if (other.contains(value)) found.push_back(value);
        }
        for (int value : found) self().remove(value);
    }
};

// AbstractList.
template <class C> class List : public Collection<C> {
public:
    template <class Other> bool equals(Other &other) {
        auto mine = typename C::Iterator(static_cast<C &>(*this));
        auto others = other.iterator();
        while (mine.has_next() && others.has_next())
            if (mine.next() != others.next()) return false;
        return !mine.has_next() && !others.has_next();
    }
};

// AbstractSet.
template <class C> class Set : public Collection<C> {
    C &self() { return static_cast<C &>(*this); }

public:
    std::vector<int> to_array() {
        std::vector<int> values;
        for (auto each = typename C::Iterator(self()); each.has_next();) values.push_back(each.next());
        return values;
    }

    template <class Other> bool equals(Other &other) {
        return other.size() == self().size() && self().contains_all(other);
    }

    template <class Other> void remove_all(Other &other) {
        if (self().size() <= other.size()) return Collection<C>::remove_all(other);
        for (auto each = other.iterator(); each.has_next();) self().remove(each.next());
    }
};

// Where the results of calls go that nobody asks for.
static thread_local volatile int result;

// Threads that call methods. What a call throws ends that call; when all are done, it
// ends the program.
class Callers {
    std::vector<std::thread> threads;
    std::vector<std::exception_ptr> thrown = std::vector<std::exception_ptr>(16);

public:
    void start(std::vector<std::function<void()>> calls, int times = 1) {
        std::exception_ptr &mine = thrown[threads.size()];
        threads.emplace_back([calls, times, &mine] {
            for (size_t i = 0; i < times * calls.size(); i++)
                try {
                    calls[i % calls.size()]();
                } catch (...) {
                    mine = std::current_exception();
                }
        });
    }

    void join() {
        for (auto &thread : threads) thread.join();
        for (auto &mine : thrown)
            if (mine) std::rethrow_exception(mine);
    }
};

// The test driver of the paper: two empty containers, and threads that each call
// different methods of either of them (§5.1), all of them some times over. Methods that
// take another container along are called with the second one, so that nobody waits for
// locks in a circle. Values are below `most`.
template <class C> int drive(int most) {
    static Synchronised<C> one, two;
    Callers callers;
    for (int v : {0, most / 2}) {
        std::vector<std::function<void()>> of_one = {
            [=] { one.add(v); },         [] { result = one.contains_all(two); },
            [=] { one.remove(v); },      [] { one.add_all(two); },
            [] { result = one.size(); }, [] { result = one.equals(two); },
            [] { one.clear(); },         [] { one.remove_all(two); },
        };
        std::vector<std::function<void()>> of_two = {
            [=] { two.add(v); },         [=] { two.add(v + 1); },
            [] { result = two.size(); }, [=] { two.remove(v); },
            [=] { two.add(v + 2); },     [=] { result = two.contains(v); },
            [] { two.clear(); },         [] { two.to_array(); },
        };
        for (auto calls : {of_one, of_two}) {
            // The second thread begins with another method.
            if (v != 0) std::rotate(calls.begin(), calls.begin() + 4, calls.end());
            callers.start(calls, 12);
        }
    }
    callers.join();
    return 0;
}

#endif
