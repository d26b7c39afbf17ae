#include "workload.hpp"

/// Each side writes a line of its own and reads the other one's, as who sends messages both ways does: no
/// side writes what it has just read. How often the turn came stands in the lines.
class TwoLines {
public:
    void pass(int side) {
        const auto mine = static_cast<std::size_t>(side);
        const std::uint32_t passes = lines_[mine].passes.load(std::memory_order_relaxed);
        const std::uint32_t wanted = passes + (side == 0 ? 0 : 1);
        while (lines_[1 - mine].passes.load(std::memory_order_acquire) != wanted) { toll::cpu_relax(); }
        lines_[mine].passes.store(passes + 1, std::memory_order_release);
    }

private:
    struct alignas(toll::core_to_core::line_bytes) Line {
        std::atomic<std::uint32_t> passes{0};
    };
    std::array<Line, 2> lines_;
};

TOLL_CONTENDER(core_to_core, two_lines, TwoLines);
