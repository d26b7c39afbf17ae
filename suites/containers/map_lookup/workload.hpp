#pragma once

// containers/map_lookup: what finding a value by its key costs, by the size of the map.

#include "../shared/map_session.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace toll::map_lookup {

/// An iteration is a pass of look-ups, none of which waits for another one's value: as many as there are
/// elements, from 16,384 to 4,194,304; short passes have other keys than those before them, until 65,536 were
/// looked up. Its answer is 1 where the right number was found, with the right values.
template <maps::Family F>
class Workload {
public:
    static constexpr WorkloadInfo info{"containers/map_lookup", Kind::batch, "ns", "look-up"};

    static std::vector<Parameter> parameters() {
        auto all = maps::Session<F>::parameters();
        all.insert(all.begin(), {"found", "hit", "",
                                 "hit: all keys are in the map; miss: none; half: every second one, drawn at "
                                 "random"});
        all.push_back(
            {"order", "shuffled", "",
             "of the look-ups; inserted: that in which the elements came, as their nodes lie in memory"});
        return all;
    }

    explicit Workload(const Arguments& arguments)
        : session_(arguments),
          look_ups_(std::clamp(session_.elements(), fewest, most)),
          passes_((fewest_keys + look_ups_ - 1) / look_ups_) {
        const maps::Wanted wanted = parsed(arguments.text("found"));
        const maps::Order order = parsed_order(arguments.text("order"));
        session_.fill();
        session_.table().draw(wanted, order, look_ups_, passes_);
    }

    Checksum run(std::uint64_t iterations) {
        Checksum answers = 0;
        for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
            answers += session_.table().look_up(next_) == session_.table().expected(next_) ? 1 : 0;
            next_ = next_ + 1 == passes_ ? 0 : next_ + 1;
        }
        return answers;
    }

    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return look_ups_; }
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept { return iterations; }
    [[nodiscard]] Footing footing() const { return session_.footing(); }
    [[nodiscard]] Details details() const { return session_.details(); }

private:
    // Look-ups of a pass.
    static constexpr std::size_t fewest = std::size_t{1} << 14;
    static constexpr std::size_t most = std::size_t{1} << 22;
    /// Of all passes together: some processors learn the outcomes of some 30,000 branches by heart, and a
    /// look-up has one or two.
    static constexpr std::size_t fewest_keys = std::size_t{1} << 16;

    static maps::Wanted parsed(const std::string& text) {
        if (text == "hit") { return maps::Wanted::hit; }
        if (text == "miss") { return maps::Wanted::miss; }
        if (text == "half") { return maps::Wanted::half; }
        throw UsageError("found is hit, miss or half, not '" + text + "'");
    }

    static maps::Order parsed_order(const std::string& text) {
        if (text == "shuffled") { return maps::Order::shuffled; }
        if (text == "inserted") { return maps::Order::inserted; }
        throw UsageError("order is shuffled or inserted, not '" + text + "'");
    }

    maps::Session<F> session_;
    std::size_t look_ups_;  ///< of a pass
    std::size_t passes_;    ///< with keys of their own, one after the other
    std::size_t next_ = 0;
};

}  // namespace toll::map_lookup
