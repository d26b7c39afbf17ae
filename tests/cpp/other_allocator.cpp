// Stands behind the counting library in a test: every block carries a mark in front, so that a call
// which reached any other allocator, or a free that did not come from here, shows.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>

namespace {
std::atomic<unsigned long> served{0};

template <class Function>
Function* behind(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
}  // namespace

extern "C" {

unsigned long other_allocator_served() {
    return served.load();
}

void* malloc(std::size_t bytes) {
    static auto* const next = behind<void*(std::size_t)>("malloc");
    ++served;
    return next(bytes);
}

void free(void* block) {
    static auto* const next = behind<void(void*)>("free");
    next(block);
}
}

// As tcmalloc and jemalloc do: an operator new that bypasses malloc. It must never be reached.
void* operator new(std::size_t) {
    std::abort();
}
