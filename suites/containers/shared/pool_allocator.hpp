// An allocator for containers of nodes: blocks come in groups and go onto a free list. After the PoolAlloc of
// Dennis Lang's "C++ STL, Boost and native array Performance and Custom Allocator" (2015), in C++20.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define TOLL_POOL_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TOLL_POOL_POISONS 1
#endif
#endif
#if defined(TOLL_POOL_POISONS)
#include <sanitizer/asan_interface.h>
#endif

namespace toll {

/// What one pool took from operator new.
struct PoolCounts {
    std::uint64_t calls = 0;       // of operator new
    std::uint64_t bytes = 0;       // asked for in all of them
    std::uint64_t held_bytes = 0;  // not given back yet

    friend bool operator==(const PoolCounts&, const PoolCounts&) = default;
};

namespace detail {

/// The blocks of one container, by size. Groups are kept until the pool dies.
class Pool {
public:
    static constexpr std::size_t group_blocks = 16;
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    explicit Pool(std::size_t most_bytes) noexcept : most_bytes_(most_bytes) {}
    Pool(Pool&&) = delete;
    ~Pool() {
        for (Group* group = groups_; group != nullptr;) {
            Group* next = group->next;
            unpoison(group, group->bytes);
            give_back(group, group->bytes, group->alignment);
            group = next;
        }
    }

    /// One block of `size` bytes. Throws std::bad_alloc beyond the limit.
    template <std::size_t size, std::size_t alignment>
    [[nodiscard]] void* take() {
        constexpr std::size_t bytes = block_bytes<size, alignment>;
        Blocks& blocks = blocks_of<size, alignment>();
        void* block = blocks.free;
        if (block != nullptr) {
            blocks.free = blocks.free->next;
        } else {
            if (blocks.unused == blocks.unused_end) [[unlikely]] { next_group(blocks, bytes, alignment); }
            block = std::exchange(blocks.unused, blocks.unused + bytes);
        }
        ++blocks.live;
        unpoison(block, bytes);
        return block;
    }

    template <std::size_t size, std::size_t alignment>
    void put(void* block) noexcept {
        Blocks& blocks = blocks_of<size, alignment>();
        blocks.free = ::new (block) Free{blocks.free};
        poison_behind_link(block, block_bytes<size, alignment>);
        if (--blocks.live == 0) { blocks.begin_again(); }
    }

    /// `bytes` that no free list serves.
    [[nodiscard]] void* pass(std::size_t bytes, std::size_t alignment) {
        if (bytes > most_bytes_ - counts_.held_bytes) { throw std::bad_alloc(); }
        void* block = alignment > plain_alignment ? ::operator new(bytes, std::align_val_t{alignment})
                                                  : ::operator new(bytes);
        ++counts_.calls;
        counts_.bytes += bytes;
        counts_.held_bytes += bytes;
        return block;
    }

    void give_back(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        counts_.held_bytes -= bytes;
        if (alignment > plain_alignment) {
            ::operator delete(block, std::align_val_t{alignment});
        } else {
            ::operator delete(block);
        }
    }

    void preallocate(std::size_t blocks) noexcept { next_group_blocks_ = std::max<std::size_t>(blocks, 1); }
    [[nodiscard]] std::size_t most_bytes() const noexcept { return most_bytes_; }
    [[nodiscard]] const PoolCounts& counts() const noexcept { return counts_; }

private:
    struct Free {
        Free* next;
    };
    struct Group {
        Group* next;            // of all, for the destructor
        Group* next_of_blocks;  // of one kind of block, in the order in which they came
        std::size_t bytes;
        std::size_t alignment;

        [[nodiscard]] std::byte* first_block() noexcept {
            return reinterpret_cast<std::byte*>(this) + rounded_up(sizeof(Group), alignment);
        }
        [[nodiscard]] std::byte* end() noexcept { return reinterpret_cast<std::byte*>(this) + bytes; }
    };
    /// The blocks of one size and alignment.
    struct Blocks {
        Free* free = nullptr;             // given back, the latest first
        std::byte* unused = nullptr;      // of `group`: not given out yet
        std::byte* unused_end = nullptr;  // of `group`
        std::size_t live = 0;
        Group* group = nullptr;
        Group* first_group = nullptr;

        void use(Group* now) noexcept {
            group = now;
            unused = now->first_block();
            unused_end = now->end();
        }
        /// All are back: forgets the order in which they came. A container that is cleared and filled again
        /// gets blocks that lie side by side, as the first time.
        void begin_again() noexcept {
            free = nullptr;
            use(first_group);
        }
    };
    /// Blocks that are too large or too strictly aligned to have a place in `common_`.
    struct Uncommon {
        Uncommon(std::size_t block_bytes_, std::size_t alignment_, std::unique_ptr<Uncommon> next_)
            : bytes(block_bytes_), alignment(alignment_), next(std::move(next_)) {}
        std::size_t bytes;
        std::size_t alignment;
        std::unique_ptr<Uncommon> next;
        Blocks blocks;
    };

    static constexpr std::size_t plain_alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
    static constexpr std::size_t step = sizeof(Free);
    static constexpr std::size_t common_bytes = 256;

    static constexpr std::size_t rounded_up(std::size_t bytes, std::size_t to) noexcept {
        return (bytes + to - 1) / to * to;
    }
    template <std::size_t size, std::size_t alignment>
    static constexpr std::size_t block_bytes = rounded_up(size, std::max(step, alignment));
    /// Blocks of one such size are one kind: a group begins at plain_alignment, and an alignment beyond
    /// `step` divides the size, so that every block of that size has it.
    template <std::size_t size, std::size_t alignment>
    static constexpr bool is_common =
        block_bytes<size, alignment> <= common_bytes && alignment <= plain_alignment;

    template <std::size_t size, std::size_t alignment>
    [[nodiscard]] Blocks& blocks_of() {
        if constexpr (is_common<size, alignment>) {
            return common_[block_bytes<size, alignment> / step - 1];
        } else {
            return uncommon_blocks(block_bytes<size, alignment>, alignment);
        }
    }

    [[nodiscard]] Blocks& uncommon_blocks(std::size_t bytes, std::size_t alignment) {
        for (Uncommon* known = uncommon_.get(); known != nullptr; known = known->next.get()) {
            if (known->bytes == bytes && known->alignment == alignment) { return known->blocks; }
        }
        uncommon_ = std::make_unique<Uncommon>(bytes, alignment, std::move(uncommon_));
        return uncommon_->blocks;
    }

    /// Goes on to the next group of `blocks`: one from before they began again, or a new one.
    [[gnu::noinline]] void next_group(Blocks& blocks, std::size_t block, std::size_t alignment) {
        Group*& next = blocks.group != nullptr ? blocks.group->next_of_blocks : blocks.first_group;
        if (next == nullptr) { next = new_group(block, alignment); }
        blocks.use(next);
    }

    [[nodiscard]] Group* new_group(std::size_t block, std::size_t alignment) {
        const std::size_t blocks = next_group_blocks_;
        const std::size_t group_alignment = std::max(alignment, plain_alignment);
        const std::size_t header = rounded_up(sizeof(Group), group_alignment);
        if (blocks > (unlimited - header) / block) { throw std::bad_array_new_length(); }
        const std::size_t bytes = header + blocks * block;
        void* memory = pass(bytes, group_alignment);
        groups_ = ::new (memory) Group{groups_, nullptr, bytes, group_alignment};
        next_group_blocks_ = group_blocks;
        poison(groups_->first_block(), blocks * block);
        return groups_;
    }

#if defined(TOLL_POOL_POISONS)
    static void unpoison(void* block, std::size_t bytes) noexcept {
        __asan_unpoison_memory_region(block, bytes);
    }
    static void poison(void* block, std::size_t bytes) noexcept { __asan_poison_memory_region(block, bytes); }
    static void poison_behind_link(void* block, std::size_t bytes) noexcept {
        __asan_poison_memory_region(static_cast<std::byte*>(block) + sizeof(Free), bytes - sizeof(Free));
    }
#else
    static void unpoison(void*, std::size_t) noexcept {}
    static void poison(void*, std::size_t) noexcept {}
    static void poison_behind_link(void*, std::size_t) noexcept {}
#endif

    Blocks common_[common_bytes / step] = {};
    std::size_t next_group_blocks_ = group_blocks;
    std::size_t most_bytes_;
    Group* groups_ = nullptr;
    std::unique_ptr<Uncommon> uncommon_;
    PoolCounts counts_;
};

}  // namespace detail

/// A pool for one container. A request for one object takes a block from a free list, and where that is
/// empty from a group of 16, or of as many as preallocate() asked for. Given back blocks wait for the next
/// request; once all are back, they are given out in the order of their groups again. Groups go back to
/// operator new when the last copy of the allocator dies. A request for several objects passes through to
/// operator new.
///
/// The copies that a container makes for its nodes share one pool. A copied container gets a pool of its
/// own with the same limit; one that is moved into or swapped takes the pool along with the memory. A
/// container that was moved from shares the pool of the one that took its elements until it is assigned to.
/// Not synchronised: containers that share a pool belong to one thread at a time.
template <class T>
class pool_allocator {  // NOLINT(readability-identifier-naming): named as the standard names allocators
public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::false_type;

    pool_allocator() : pool_allocator(detail::Pool::unlimited) {}
    /// A pool that holds `most_bytes` at most; allocate() throws std::bad_alloc beyond.
    explicit pool_allocator(std::size_t most_bytes) : pool_(std::make_shared<detail::Pool>(most_bytes)) {}
    // No move: an allocator that was moved from must equal what it was.
    pool_allocator(const pool_allocator& other) noexcept = default;
    pool_allocator& operator=(const pool_allocator& other) noexcept = default;
    ~pool_allocator() = default;
    template <class U>
    pool_allocator(const pool_allocator<U>& other) noexcept : pool_(other.pool_) {}

    /// Throws std::bad_alloc beyond the pool's limit or where operator new does, std::bad_array_new_length
    /// where the size does not fit std::size_t.
    [[nodiscard]] T* allocate(std::size_t count) {
        if (count == 1) [[likely]] {
            return static_cast<T*>(pool_->template take<object_bytes(), alignof(T)>());
        }
        if (count > detail::Pool::unlimited / object_bytes()) { throw std::bad_array_new_length(); }
        return static_cast<T*>(pool_->pass(count * object_bytes(), alignof(T)));
    }

    void deallocate(T* block, std::size_t count) noexcept {
        if (count == 1) [[likely]] {
            pool_->template put<object_bytes(), alignof(T)>(static_cast<void*>(block));
        } else {
            pool_->give_back(static_cast<void*>(block), count * object_bytes(), alignof(T));
        }
    }

    [[nodiscard]] pool_allocator select_on_container_copy_construction() const {
        return pool_allocator(pool_->most_bytes());
    }

    /// The next group has `blocks` blocks, once; those after it 16 again.
    void preallocate(std::size_t blocks) noexcept { pool_->preallocate(blocks); }
    [[nodiscard]] const PoolCounts& counts() const noexcept { return pool_->counts(); }

    template <class U>
    [[nodiscard]] bool operator==(const pool_allocator<U>& other) const noexcept {
        return pool_ == other.pool_;
    }

private:
    template <class U>
    friend class pool_allocator;

    /// A function, because T may be incomplete while the class is.
    static constexpr std::size_t object_bytes() noexcept {
        return sizeof(T);  // NOLINT(bugprone-sizeof-expression): tables of pointers are meant
    }

    std::shared_ptr<detail::Pool> pool_;
};

}  // namespace toll
