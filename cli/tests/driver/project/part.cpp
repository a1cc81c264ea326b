#include <memory>

extern "C" int part(int *number) {
    std::unique_ptr<int> one(new int(1));
    return *number += *one;
}
