namespace geometry {

int drawn;

template <typename T> struct Box {
    T side;
    __attribute__((noinline)) T area(T scale) const {
        return side * side * scale; // area
    }
};

namespace {
int cached[4];
__attribute__((noinline)) int remember(int value) {
    cached[value & 3] = value; // remember
    return cached[0];
}
} // namespace

template <typename T> __attribute__((noinline)) T larger(T a, T b) {
    return a < b ? b : a; // larger
}

struct Shape {
    virtual ~Shape() = default;
    virtual int draw(int times);
};

__attribute__((noinline)) int Shape::draw(int times) {
    static int calls;
    calls += times; // draw
    return remember(calls);
}

} // namespace geometry

static __attribute__((noinline)) int helper(int x) {
    return geometry::larger(x, 7); // helper
}

extern "C" __attribute__((noinline)) int from_c(int x) {
    geometry::drawn += x; // from_c
    return helper(x);
}

int main(int argc, char **) {
    geometry::Shape shape;
    geometry::Box<long> box{argc};
    return shape.draw(from_c(argc)) + (int)box.area(3);
}
