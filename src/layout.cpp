#include "toll/layout.hpp"

namespace toll {

Layout::Layout(std::uint64_t seed) : stack_shift_bytes_(0) {
    Random random(seed);
    stack_shift_bytes_ = stack_step_bytes * random.below(stack_range_bytes / stack_step_bytes + 1);
    // glibc keeps up to 7 freed blocks of each class ready, handed out last in, first out. Taking 0
    // to 7 of each decides how deep in that list the contender's own blocks begin.
    constexpr std::size_t largest_class_bytes = 1024;
    for (std::size_t bytes = 16; bytes <= largest_class_bytes; bytes += 16) {
        for (std::uint64_t left = random.below(8); left > 0; --left) {
            blocks_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
        }
    }
}

}  // namespace toll
