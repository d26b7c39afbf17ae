#include "toll/layout.hpp"

namespace toll {

Layout::Layout(std::uint64_t seed) : stack_shift_bytes_(0) {
    Random random(seed);
    stack_shift_bytes_ = stack_step_bytes * random.below(stack_range_bytes / stack_step_bytes + 1);
    // Up to 64 blocks of at most 1 KiB: enough to move every later block to another cache set and
    // page offset, too little to count as memory of the contender.
    blocks_.resize(1 + random.below(64));
    for (auto& block : blocks_) {
        block = std::make_unique_for_overwrite<char[]>(16 + random.below(1009));
        keep(block);
    }
}

}  // namespace toll
