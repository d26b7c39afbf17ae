#pragma once

// containers/array_update: what `c[i] = c[i] + n` costs, element by element.
// Question and numbers of rounds after the "array performance" document of 2011 to 2015 (see published.toml).

#include "../shared/arrays.hpp"

#include <toll/contender.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace toll::array_update {

using arrays::Access;

/// `F` makes the container (arrays::AnySize, arrays::FixedSizes). The array lives as long as the launch and
/// is never made anew between iterations, because making it costs as much as a round. So an iteration's
/// answer is by how much one element grew, another one each time; expected() looks at all, outside the timed
/// part.
template <arrays::Family F>
class Workload {
public:
    static constexpr WorkloadInfo info{"containers/array_update", Kind::batch, "ns", "update"};

    static std::vector<Parameter> parameters() {
        return {{"size", std::to_string(arrays::default_size), "elements",
                 "length of the array, 4 bytes each: 400 B, 16 KiB, 256 KiB, 4 MiB, 64 MiB, 512 MiB"},
                {"rounds", "8000", "rounds",
                 "passes over 100 elements; another size gets as many updates, at least one pass"}};
    }

    explicit Workload(const Arguments& arguments)
        : size_(arguments.number("size", 1, arrays::largest_size)),
          passes_(arrays::passes(arguments.number("rounds", 1, arrays::most_rounds), size_)),
          array_(F::template make<Access::index>(static_cast<std::size_t>(size_))),
          vectorized_(arrays::vectorized(array_->update_loop())) {}

    Checksum run(std::uint64_t iterations) {
        Checksum answers = 0;
        for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
            const auto witness = static_cast<std::size_t>(witness_++ % size_);
            const arrays::Element before = array_->at(witness);
            array_->update(passes_);
            answers += static_cast<arrays::Element>(array_->at(witness) - before);
        }
        added_ += static_cast<arrays::Element>(iterations * growth());
        return answers;
    }

    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return passes_ * size_; }

    /// Throws WrongAnswer where any element did not grow with the others.
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const {
        const std::size_t wrong = array_->first_wrong(added_);
        if (wrong != size_) {
            throw WrongAnswer("element " + std::to_string(wrong) + " holds " +
                              std::to_string(array_->at(wrong)) + ", not " +
                              std::to_string(static_cast<arrays::Element>(arrays::initial(wrong) + added_)));
        }
        return iterations * growth();
    }

    [[nodiscard]] Footing footing() const {
        return {{"vectorized", vectorized_},
                {"bounds_checks", arrays::bounds_checks(F::checks, Access::index)},
                {"rounds_per_iteration", passes_}};
    }

    [[nodiscard]] Details details() const { return arrays::simd_width(vectorized_); }

private:
    /// What every element grows by in an iteration: 1 + 2 + ... + passes.
    [[nodiscard]] arrays::Element growth() const noexcept {
        return static_cast<arrays::Element>(passes_ * (passes_ + 1) / 2);
    }

    std::uint64_t size_;
    std::uint64_t passes_;
    std::unique_ptr<arrays::Array> array_;
    std::string vectorized_;
    std::uint64_t witness_ = 0;
    arrays::Element added_ = 0;
};

}  // namespace toll::array_update
