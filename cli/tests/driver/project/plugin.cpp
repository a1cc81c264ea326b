#include <string>

extern "C" int racehound_calls(void);

extern "C" int plug(int *number) {
    *number += static_cast<int>(std::string("x").size());
    return *number;
}

extern "C" void *plugin_runtime(void) { return reinterpret_cast<void *>(racehound_calls); }
