#pragma once

// containers/map_insert: what adding an element costs, in a map that grows from empty.

#include "../shared/map_session.hpp"

#include <cstdint>
#include <vector>

namespace toll::map_insert {

/// An iteration makes a map and puts all elements in, without telling it how many there will be; its answer
/// is the number of those that were new. The maps are kept until the batch has been timed.
template <maps::Family F>
class Workload {
public:
    static constexpr WorkloadInfo info{"containers/map_insert", Kind::batch, "ns", "element"};

    static std::vector<Parameter> parameters() { return maps::Session<F>::parameters(); }

    explicit Workload(const Arguments& arguments) : session_(arguments) {
        session_.refuse_what_takes_minutes();
        session_.fill();
    }

    void before_batch() { session_.table().drop_grown(); }
    void after_batch() noexcept { session_.table().drop_grown(); }

    Checksum run(std::uint64_t iterations) {
        Checksum answers = 0;
        for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
            answers += session_.table().grow_another();
        }
        return answers;
    }

    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return session_.elements(); }
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept {
        return iterations * session_.elements();
    }
    [[nodiscard]] Footing footing() const { return session_.footing(); }
    [[nodiscard]] Details details() const { return session_.details(); }

private:
    maps::Session<F> session_;
};

}  // namespace toll::map_insert
