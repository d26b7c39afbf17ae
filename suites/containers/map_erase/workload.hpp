#pragma once

// containers/map_erase: what taking an element out by its key and putting another one in costs.

#include "../shared/map_session.hpp"

#include <cstdint>
#include <vector>

namespace toll::map_erase {

/// An iteration exchanges every element for another one; its answer is the number of those that were found
/// and of those that were new. The map holds as many at its end as at its beginning.
template <maps::Family F>
class Workload {
public:
    static constexpr WorkloadInfo info{"containers/map_erase", Kind::batch, "ns", "exchange"};

    static std::vector<Parameter> parameters() { return maps::Session<F>::parameters(); }

    explicit Workload(const Arguments& arguments) : session_(arguments) {
        session_.refuse_what_takes_minutes();
        session_.fill();
        session_.table().draw_exchange();
        if (session_.table().exchange() != expected(1) ||
            session_.table().all() != session_.all_of(session_.elements())) {
            throw WrongAnswer("the map does not hold the elements that came in the place of others");
        }
    }

    Checksum run(std::uint64_t iterations) {
        Checksum answers = 0;
        for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
            answers += session_.table().exchange();
        }
        return answers;
    }

    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return session_.elements(); }
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept {
        return iterations * 2 * session_.elements();
    }
    [[nodiscard]] Footing footing() const { return session_.footing(); }
    [[nodiscard]] Details details() const { return session_.details(); }

private:
    maps::Session<F> session_;
};

}  // namespace toll::map_erase
