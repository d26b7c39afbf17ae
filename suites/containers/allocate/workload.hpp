#pragma once

// containers/allocate: how long one call of an allocator takes, call by call.

#include "../shared/allocation_session.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace toll::allocate {

/// `live` blocks are taken, then all are given back in another order, and so on. A sample is one call, of
/// allocate or of deallocate; writing to the block and checking it are outside. Its answer is 1 where both
/// ends of the block held until it was given back what was written there when it was taken.
template <Family F>
class Workload {
public:
    static constexpr WorkloadInfo info{"containers/allocate", Kind::samples, "ns", "call"};

    static std::vector<Parameter> parameters() {
        auto all = Session<F>::parameters();
        all.insert(all.begin(), {"operation", "allocate", "", "the call that is timed: allocate, or free"});
        return all;
    }

    explicit Workload(const Arguments& arguments)
        : session_(arguments), frees_(is_free(arguments.text("operation"))) {}

    Checksum sample(std::span<float> nanoseconds, const Clock& clock) {
        Checksum answers = 0;
        most_live_ = 0;
        while (!nanoseconds.empty()) {
            const auto now = nanoseconds.first(std::min(nanoseconds.size(), session_.count()));
            most_live_ = std::max(most_live_, now.size());
            answers += cycle(now, clock);
            nanoseconds = nanoseconds.subspan(now.size());
        }
        return answers;
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept { return iterations; }
    [[nodiscard]] Footing footing() const { return session_.footing(); }
    [[nodiscard]] Details details() const {
        Details all = session_.details();
        all.emplace("most_live", static_cast<double>(most_live_));
        return all;
    }

private:
    static bool is_free(const std::string& operation) {
        if (operation != "allocate" && operation != "free") {
            throw UsageError("operation is allocate or free, not '" + operation + "'");
        }
        return operation == "free";
    }

    /// Takes and gives back as many blocks as are to be timed; returns how many were intact. In a request for
    /// fewer samples than `live` fewer blocks live, so that each sample counts as one call of either kind.
    std::uint64_t cycle(std::span<float> out, const Clock& clock) {
        std::uint64_t intact = 0;
        Blocks& blocks = session_.blocks();
        if (frees_) {
            blocks.fill(out.size());
            session_.where_freed([&] { intact = blocks.drain_timed(out, clock); });
        } else {
            blocks.fill_timed(out, clock);
            session_.where_freed([&] { intact = blocks.drain(out.size()); });
        }
        return intact;
    }

    Session<F> session_;
    std::size_t most_live_ = 0;  ///< blocks, in the last request
    bool frees_;
};

}  // namespace toll::allocate
