#pragma once

// containers/allocate_throughput: what taking a block, using it and giving it back costs on average.

#include "../shared/allocation_session.hpp"

#include <cstdint>
#include <vector>

namespace toll::allocate_throughput {

/// An iteration takes `live` blocks, writes to both ends of each, then checks and gives back all of them in
/// another order. Its answer is 1 where all were intact.
template <allocate::Family F>
class Workload {
public:
    static constexpr WorkloadInfo info{"containers/allocate_throughput", Kind::batch, "ns", "block"};

    static std::vector<Parameter> parameters() { return allocate::Session<F>::parameters(); }

    explicit Workload(const Arguments& arguments) : session_(arguments) {}

    Checksum run(std::uint64_t iterations) {
        Checksum answers = 0;
        for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
            std::uint64_t intact = 0;
            session_.blocks().fill(session_.count());
            session_.where_freed([&] { intact = session_.blocks().drain(session_.count()); });
            answers += intact == session_.count() ? 1 : 0;
        }
        return answers;
    }

    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return session_.count(); }
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept { return iterations; }
    [[nodiscard]] Footing footing() const { return session_.footing(); }
    [[nodiscard]] Details details() const { return session_.details(); }

private:
    allocate::Session<F> session_;
};

}  // namespace toll::allocate_throughput
