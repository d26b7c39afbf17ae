#pragma once

// The pool allocator of the document, behaviour for behaviour: how many blocks a group has and when, that
// groups come from malloc, that each block carries two links, and that groups stay until the last allocator
// goes. What C++ does not allow is mended: what the allocators of one container share has one type here,
// where the document's is cast from that of one element type to that of another.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace toll::count_words {

/// What the allocators of one container have in common.
struct DocumentPool {
    struct Counts {
        std::uint64_t calls = 0;  // of malloc
    };
    /// Ahead of each block. `group` links the first blocks of all groups.
    struct Links {
        Links* next = nullptr;
        Links* group = nullptr;
    };

    DocumentPool() = default;
    DocumentPool(const DocumentPool&) = delete;
    DocumentPool& operator=(const DocumentPool&) = delete;
    ~DocumentPool() {
        while (groups != nullptr) {
            Links* const next = groups->group;
            std::free(groups);
            groups = next;
        }
    }

    static constexpr std::size_t usual_blocks = 16;
    Counts counts;
    std::size_t next_blocks = usual_blocks;
    Links* groups = nullptr;
};

/// Single elements come from a list of free blocks, which belongs to this one allocator: a copy shares the
/// groups, not the list. After five groups of one block each, as many as a container of Visual Studio takes
/// for itself, the next has as many blocks as preallocate() said, those after it 16.
template <class T>
class document_pool_allocator {  // NOLINT(readability-identifier-naming): as std::allocator
public:
    using value_type = T;

    document_pool_allocator() : pool_(std::make_shared<DocumentPool>()) {}
    document_pool_allocator(const document_pool_allocator& other) noexcept : pool_(other.pool_) {}
    template <class U>
    document_pool_allocator(const document_pool_allocator<U>& other) noexcept : pool_(other.pool_) {}
    document_pool_allocator& operator=(const document_pool_allocator&) = delete;
    ~document_pool_allocator() = default;

    [[nodiscard]] T* allocate(std::size_t count) {
        if (count != 1) { return static_cast<T*>(from_malloc(count * sizeof(T))); }
        if (free_ == nullptr) {
            const bool few = pool_->counts.calls <= groups_of_one;
            add_group(few ? 1 : pool_->next_blocks);
            if (!few) { pool_->next_blocks = DocumentPool::usual_blocks; }
        }
        Links* const taken = free_;
        free_ = taken->next;
        taken->next = nullptr;
        return reinterpret_cast<T*>(taken + 1);
    }

    void deallocate(T* block, std::size_t count) noexcept {
        if (count != 1) {
            std::free(static_cast<void*>(block));
            return;
        }
        Links* const links = reinterpret_cast<Links*>(block) - 1;
        links->next = free_;
        free_ = links;
    }

    /// The next group has `blocks` blocks, once.
    void preallocate(std::size_t blocks) noexcept { pool_->next_blocks = blocks; }
    [[nodiscard]] const DocumentPool::Counts& counts() const noexcept { return pool_->counts; }

    [[nodiscard]] bool operator==(const document_pool_allocator& other) const noexcept {
        return pool_ == other.pool_;
    }

private:
    template <class U>
    friend class document_pool_allocator;
    using Links = DocumentPool::Links;
    static constexpr std::uint64_t groups_of_one = 4;

    void* from_malloc(std::size_t bytes) {
        ++pool_->counts.calls;
        void* const memory = std::malloc(bytes);
        if (memory == nullptr) { throw std::bad_alloc(); }
        return memory;
    }

    void add_group(std::size_t blocks) {
        static_assert(alignof(T) <= alignof(Links), "blocks lie behind two links");
        constexpr std::size_t bytes =
            sizeof(Links) + (sizeof(T) + alignof(Links) - 1) / alignof(Links) * alignof(Links);
        auto* at = static_cast<std::byte*>(from_malloc(blocks * bytes));
        pool_->groups = ::new (at) Links{nullptr, pool_->groups};
        for (std::size_t block = 0; block < blocks; ++block, at += bytes) {
            auto* const links = block == 0 ? pool_->groups : ::new (at) Links{};
            links->next = free_;
            free_ = links;
        }
    }

    std::shared_ptr<DocumentPool> pool_;
    Links* free_ = nullptr;
};

}  // namespace toll::count_words
