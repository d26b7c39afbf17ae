// libtoll_allocations.so: stands before malloc and counts. Preloaded for the counting pass only.
//
// Every call goes on to the next allocator in line (RTLD_NEXT), which may be another preloaded one.
// dlsym itself may allocate before the next malloc is known; a small static pool serves that.
#include "allocations_preload.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace {

struct Next {
    void* (*malloc)(std::size_t);
    void (*free)(void*);
    void* (*calloc)(std::size_t, std::size_t);
    void* (*realloc)(void*, std::size_t);
    void* (*memalign)(std::size_t, std::size_t);
    int (*posix_memalign)(void**, std::size_t, std::size_t);
    void* (*aligned_alloc)(std::size_t, std::size_t);
    std::size_t (*usable_size)(void*);
};

Next next{};
std::atomic<bool> next_known{false};

// What dlsym may ask for before `next` is known. Never given back.
alignas(std::max_align_t) char pool[16 * 1024];
std::atomic<std::size_t> pool_used{0};

bool in_pool(const void* block) noexcept {
    const auto* at = static_cast<const char*>(block);
    return at >= pool && at < pool + sizeof pool;
}

/// Zeroed memory with its size in front, or null once the pool is used up.
void* pool_allocate(std::size_t bytes) noexcept {
    constexpr std::size_t unit = alignof(std::max_align_t);
    if (bytes > sizeof pool) { return nullptr; }
    const std::size_t need = (bytes + unit - 1) / unit * unit + unit;
    const std::size_t at = pool_used.fetch_add(need, std::memory_order_relaxed);
    if (at + need > sizeof pool) { return nullptr; }
    std::memcpy(pool + at, &bytes, sizeof bytes);
    return pool + at + unit;
}

std::size_t pool_size_of(const void* block) noexcept {
    std::size_t bytes = 0;
    std::memcpy(&bytes, static_cast<const char*>(block) - alignof(std::max_align_t), sizeof bytes);
    return bytes;
}

template <class Function>
void look_up(Function*& into, const char* name) noexcept {
    into = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Whether the next allocator can be asked. False only while dlsym itself is at work.
bool find_next() noexcept {
    if (next_known.load(std::memory_order_acquire)) { return true; }
    // Threads cannot exist before the first allocation of the first thread, which is where this
    // runs; only dlsym's own calls re-enter.
    static bool looking = false;
    if (looking) { return false; }
    looking = true;
    look_up(next.malloc, "malloc");
    look_up(next.free, "free");
    look_up(next.calloc, "calloc");
    look_up(next.realloc, "realloc");
    look_up(next.memalign, "memalign");
    look_up(next.posix_memalign, "posix_memalign");
    look_up(next.aligned_alloc, "aligned_alloc");
    look_up(next.usable_size, "malloc_usable_size");
    if (next.malloc == nullptr || next.free == nullptr || next.usable_size == nullptr) {
        constexpr char message[] = "toll_allocations: no malloc behind this library\n";
        (void)!write(STDERR_FILENO, message, sizeof message - 1);
        _exit(1);
    }
    looking = false;
    next_known.store(true, std::memory_order_release);
    return true;
}

std::atomic<std::uint64_t> calls{0};
std::atomic<std::uint64_t> requested_bytes{0};
std::atomic<std::int64_t> live_bytes{0};
std::atomic<std::int64_t> peak_live_bytes{0};
std::atomic<bool> counting{false};
std::int64_t live_at_start = 0;

void note_live(std::int64_t change) noexcept {
    const std::int64_t live = live_bytes.fetch_add(change, std::memory_order_relaxed) + change;
    std::int64_t peak = peak_live_bytes.load(std::memory_order_relaxed);
    while (live > peak && !peak_live_bytes.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {}
}

/// While this thread asks the allocator behind us for a size. tcmalloc's first answer allocates through
/// operator new, which is ours: that block is not the program's, and asking for its size in turn would
/// never end. Initial-exec, because any other thread-local variable may be allocated on first use.
[[gnu::tls_model("initial-exec")]] thread_local bool asking_size = false;

/// What the allocator really gave; 0 for what it takes for itself while it is asked.
std::int64_t size_of(void* block) noexcept {
    if (asking_size) { return 0; }
    asking_size = true;
    const auto bytes = static_cast<std::int64_t>(next.usable_size(block));
    asking_size = false;
    return bytes;
}

/// Counts a successful allocation and hands it on.
void* counted(void* block, std::size_t bytes) noexcept {
    if (block == nullptr || asking_size) { return block; }
    if (counting.load(std::memory_order_relaxed)) {
        calls.fetch_add(1, std::memory_order_relaxed);
        requested_bytes.fetch_add(bytes, std::memory_order_relaxed);
    }
    note_live(size_of(block));
    return block;
}

void* allocate(std::size_t bytes) noexcept {
    return find_next() ? counted(next.malloc(bytes), bytes) : pool_allocate(bytes);
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
    return find_next() ? counted(next.memalign(alignment, bytes), bytes) : nullptr;
}

void release(void* block) noexcept {
    if (block == nullptr || in_pool(block) || !find_next()) { return; }
    note_live(-size_of(block));
    next.free(block);
}

void* reallocate(void* block, std::size_t bytes) noexcept {
    if (block == nullptr) { return allocate(bytes); }
    if (in_pool(block)) {
        void* moved = allocate(bytes);
        if (moved != nullptr) { std::memcpy(moved, block, std::min(bytes, pool_size_of(block))); }
        return moved;
    }
    const std::int64_t former = size_of(block);
    void* moved = next.realloc(block, bytes);
    // realloc(block, 0) frees: nothing is allocated. A failed one leaves the block as it was.
    if (moved != nullptr || bytes == 0) { note_live(-former); }
    return counted(moved, bytes);
}

/// operator new's contract: ask the new-handler until it gives up. The allocator behind us may bring
/// an operator new that bypasses malloc; that is why ours stands before it too.
template <class Allocate>
void* allocate_or_throw(Allocate&& once) {
    for (;;) {
        if (void* block = once()) { return block; }
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) { throw std::bad_alloc(); }
        handler();
    }
}

template <class Allocate>
void* allocate_or_null(Allocate&& once) noexcept {
    try {
        return allocate_or_throw(once);
    } catch (const std::bad_alloc&) { return nullptr; }
}

void* plain(std::size_t bytes) {
    return allocate_or_throw([&] { return allocate(bytes); });
}
void* aligned(std::size_t bytes, std::align_val_t alignment) {
    return allocate_or_throw([&] { return allocate_aligned(static_cast<std::size_t>(alignment), bytes); });
}

}  // namespace

extern "C" {

void toll_allocations_start() {
    calls.store(0);
    requested_bytes.store(0);
    live_at_start = live_bytes.load();
    peak_live_bytes.store(live_at_start);
    counting.store(true);
}

void toll_allocations_stop(TollAllocations* seen) {
    counting.store(false);
    seen->calls = calls.load();
    seen->bytes = requested_bytes.load();
    seen->peak_bytes = static_cast<std::uint64_t>(peak_live_bytes.load() - live_at_start);
}

void* toll_allocations_next_malloc() {
    return find_next() ? reinterpret_cast<void*>(next.malloc) : nullptr;
}

void* malloc(std::size_t bytes) {
    return allocate(bytes);
}
void free(void* block) {
    release(block);
}
void* realloc(void* block, std::size_t bytes) {
    return reallocate(block, bytes);
}

void* calloc(std::size_t count, std::size_t each) {
    if (!find_next()) {
        return each != 0 && count > sizeof pool / each ? nullptr : pool_allocate(count * each);
    }
    return counted(next.calloc(count, each), count * each);  // null where the product overflows
}

void* memalign(std::size_t alignment, std::size_t bytes) {
    return allocate_aligned(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    return find_next() ? counted(next.aligned_alloc(alignment, bytes), bytes) : nullptr;
}

int posix_memalign(void** into, std::size_t alignment, std::size_t bytes) {
    if (!find_next()) { return ENOMEM; }
    const int failure = next.posix_memalign(into, alignment, bytes);
    if (failure == 0) { counted(*into, bytes); }
    return failure;
}

void* valloc(std::size_t bytes) {
    return allocate_aligned(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), bytes);
}

void* pvalloc(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return allocate_aligned(page, std::max((bytes + page - 1) / page, std::size_t{1}) * page);
}

}  // extern "C"

void* operator new(std::size_t bytes) {
    return plain(bytes);
}
void* operator new[](std::size_t bytes) {
    return plain(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return allocate_or_null([&] { return allocate(bytes); });
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return allocate_or_null([&] { return allocate(bytes); });
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return aligned(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return aligned(bytes, alignment);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return allocate_or_null([&] { return allocate_aligned(static_cast<std::size_t>(alignment), bytes); });
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return allocate_or_null([&] { return allocate_aligned(static_cast<std::size_t>(alignment), bytes); });
}

void operator delete(void* block) noexcept {
    release(block);
}
void operator delete[](void* block) noexcept {
    release(block);
}
void operator delete(void* block, std::size_t) noexcept {
    release(block);
}
void operator delete[](void* block, std::size_t) noexcept {
    release(block);
}
void operator delete(void* block, const std::nothrow_t&) noexcept {
    release(block);
}
void operator delete[](void* block, const std::nothrow_t&) noexcept {
    release(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
    release(block);
}
void operator delete[](void* block, std::align_val_t) noexcept {
    release(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
    release(block);
}
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept {
    release(block);
}
void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept {
    release(block);
}
void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept {
    release(block);
}
