#pragma once

// containers/array_read: what `total += c[i]` costs, by index, at(), iterator and range-for.
// Question and numbers of rounds after the "array performance" document of 2011 to 2015 (see published.toml).

#include "../shared/arrays.hpp"

#include <toll/contender.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace toll::array_read {

using arrays::Access;

/// `F` makes the container (arrays::AnySize, arrays::FixedSizes), `access` is how the loop reads it. An
/// iteration's answer is the sum over all its rounds in the elements' own type.
template <arrays::Family F, Access access>
class Workload {
public:
    static constexpr WorkloadInfo info{"containers/array_read", Kind::batch, "ns", "read"};

    static std::vector<Parameter> parameters() {
        return {{"size", std::to_string(arrays::default_size), "elements",
                 "length of the array, 4 bytes each: 400 B, 16 KiB, 256 KiB, 4 MiB, 64 MiB, 512 MiB"},
                {"rounds", "96000", "rounds",
                 "passes over 100 elements; another size gets as many reads, at least one pass"}};
    }

    explicit Workload(const Arguments& arguments)
        : size_(arguments.number("size", 1, arrays::largest_size)),
          passes_(arrays::passes(arguments.number("rounds", 1, arrays::most_rounds), size_)),
          array_(F::template make<access>(static_cast<std::size_t>(size_))),
          vectorized_(arrays::vectorized(array_->read_loop())) {}

    Checksum run(std::uint64_t iterations) {
        Checksum answers = 0;
        for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
            answers += array_->read(passes_);
        }
        return answers;
    }

    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return passes_ * size_; }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept {
        const std::uint64_t sum_of_all = size_ * (size_ - 1) / 2;  // of arrays::initial()
        return iterations * static_cast<arrays::Element>(passes_ * sum_of_all);
    }

    [[nodiscard]] Footing footing() const {
        return {{"vectorized", vectorized_},
                {"bounds_checks", arrays::bounds_checks(F::checks, access)},
                {"rounds_per_iteration", passes_}};
    }

    [[nodiscard]] Details details() const { return arrays::simd_width(vectorized_); }

private:
    std::uint64_t size_;
    std::uint64_t passes_;
    std::unique_ptr<const arrays::Array> array_;
    std::string vectorized_;
};

}  // namespace toll::array_read
