#include "../allocate/workload.hpp"
#include "../allocate_throughput/workload.hpp"

#include <cstddef>
#include <memory>

/// The floor: what the workload itself costs. An addition hands out the next place of one large block, and
/// nothing is taken back until all are.
class BumpPointer {
public:
    void* allocate(std::size_t bytes) noexcept {
        std::byte* const place = next_;
        next_ += (bytes + strictest - 1) / strictest * strictest;
        return place;
    }
    static void deallocate(void* /*place*/, std::size_t /*bytes*/) noexcept {}
    void all_freed() noexcept { next_ = room_.get(); }

private:
    static constexpr std::size_t strictest = alignof(std::max_align_t);
    /// Blocks of 17 bytes take 32; the kernel gives only the pages that are written to.
    static constexpr std::size_t most_bytes = 2 * toll::allocate::most_live_bytes;

    std::unique_ptr<std::byte[]> room_ = std::make_unique_for_overwrite<std::byte[]>(most_bytes);
    std::byte* next_ = room_.get();
};

using Contender = toll::allocate::AnyBytes<BumpPointer>;
TOLL_CONTENDER(allocate, bump_pointer, Contender);
TOLL_CONTENDER(allocate_throughput, bump_pointer, Contender);
