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

// As tcmalloc does: the first question for a size allocates, through the operator new that stands in front.
std::size_t malloc_usable_size(void* block) {
    static std::atomic<void*> of_its_own{nullptr};
    if (of_its_own.load() == nullptr) { of_its_own = ::operator new(16); }
    static auto* const next = behind<std::size_t(void*)>("malloc_usable_size");
    return next(block);
}
}

// As tcmalloc and jemalloc do: an operator new that bypasses malloc. It must never be reached.
void* operator new(std::size_t) {
    std::abort();
}
