// An allocator that counts what a container asks for. After the one in Dennis Lang's "C++ STL, Boost and
// native array Performance and Custom Allocator" (2015), in C++20.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace toll {

/// What went through the copies of one allocator.
struct AllocatorCounts {
    std::uint64_t calls = 0;       // of allocate() that returned
    std::uint64_t bytes = 0;       // as asked for, in all of them
    std::uint64_t freed = 0;       // calls of deallocate()
    std::uint64_t live_bytes = 0;  // asked for and not given back
    std::uint64_t peak_bytes = 0;  // most that was live at once

    friend bool operator==(const AllocatorCounts&, const AllocatorCounts&) = default;
};

/// std::allocator with exact counts. The copies that a container makes for its nodes and tables count
/// together. A copied container counts for itself, from zero; one that is moved into or swapped takes the
/// counts along with the memory. Not synchronised: it belongs to one thread at a time, as its container does.
template <class T>
class counting_allocator {  // NOLINT(readability-identifier-naming): named as the standard names allocators
public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::false_type;

    counting_allocator() : counts_(std::make_shared<AllocatorCounts>()) {}
    // No move: an allocator that was moved from must equal what it was.
    counting_allocator(const counting_allocator& other) noexcept = default;
    counting_allocator& operator=(const counting_allocator& other) noexcept = default;
    ~counting_allocator() = default;
    template <class U>
    counting_allocator(const counting_allocator<U>& other) noexcept : counts_(other.counts_) {}

    /// Throws what std::allocator throws; a call that failed is not counted.
    [[nodiscard]] T* allocate(std::size_t count) {
        T* block = std::allocator<T>{}.allocate(count);
        AllocatorCounts& counts = *counts_;
        ++counts.calls;
        counts.bytes += count * object_bytes();
        counts.live_bytes += count * object_bytes();
        counts.peak_bytes = std::max(counts.peak_bytes, counts.live_bytes);
        return block;
    }

    void deallocate(T* block, std::size_t count) noexcept {
        ++counts_->freed;
        counts_->live_bytes -= count * object_bytes();
        std::allocator<T>{}.deallocate(block, count);
    }

    [[nodiscard]] counting_allocator select_on_container_copy_construction() const { return {}; }

    /// What its container has asked for so far.
    [[nodiscard]] const AllocatorCounts& counts() const noexcept { return *counts_; }

    template <class U>
    [[nodiscard]] bool operator==(const counting_allocator<U>& other) const noexcept {
        return counts_ == other.counts_;
    }

private:
    template <class U>
    friend class counting_allocator;

    /// A function, because T may be incomplete while the class is.
    static constexpr std::size_t object_bytes() noexcept {
        return sizeof(T);  // NOLINT(bugprone-sizeof-expression): tables of pointers are meant
    }

    std::shared_ptr<AllocatorCounts> counts_;
};

}  // namespace toll
