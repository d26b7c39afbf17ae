#pragma once

// containers/map_iterate: what visiting an element costs, where all are visited in the map's own order.

#include "../shared/map_session.hpp"

#include <cstdint>
#include <vector>

namespace toll::map_iterate {

/// An iteration visits all elements and adds up their values: 1, 2, 3 and so on.
template <maps::Family F>
class Workload {
public:
    static constexpr WorkloadInfo info{"containers/map_iterate", Kind::batch, "ns", "element"};

    static std::vector<Parameter> parameters() { return maps::Session<F>::parameters(); }

    explicit Workload(const Arguments& arguments) : session_(arguments) { session_.fill(); }

    Checksum run(std::uint64_t iterations) {
        Checksum answers = 0;
        for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
            answers += session_.table().all().sum;
        }
        return answers;
    }

    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return session_.elements(); }
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept {
        return iterations * session_.all_of(0).sum;
    }
    [[nodiscard]] Footing footing() const { return session_.footing(); }
    [[nodiscard]] Details details() const { return session_.details(); }

private:
    maps::Session<F> session_;
};

}  // namespace toll::map_iterate
