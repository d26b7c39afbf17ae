#pragma once

// Threads that contend for one thing, each tied to a CPU, as far as the kernel lets them.

#include "placement.hpp"
#include "still_on.hpp"

#include <toll/errors.hpp>
#include <toll/threads.hpp>

#include <functional>
#include <memory>
#include <string>

namespace toll::latency {

/// Tied to the CPUs in turn, one of each core first; where the kernel refuses, left to the scheduler.
class TiedCrew {
public:
    explicit TiedCrew(unsigned threads) {
        try {
            crew_ = std::make_unique<Crew>(threads, cpus_in_turn());
            tied_ = true;
            pinning_ = "each thread on one CPU, in turn";
        } catch (const Unsupported& refusal) {
            crew_ = std::make_unique<Crew>(threads);
            pinning_ = std::string("none: ") + refusal.what();
        }
    }

    /// As Crew::run does; then throws Unsupported where a member is no longer where it was tied.
    template <class Work>
    void run(const Work& work) {
        const auto and_look = [&](unsigned member) {
            work(member);
            if (tied_) { check_still_on(cpus_in_turn()[member % cpus_in_turn().size()]); }
        };
        crew_->run(std::cref(and_look));  // as a std::function of its own it would be allocated
    }

    [[nodiscard]] bool tied() const noexcept { return tied_; }
    /// As a Footing's pinning.
    [[nodiscard]] const std::string& pinning() const noexcept { return pinning_; }

private:
    bool tied_ = false;
    std::string pinning_;
    std::unique_ptr<Crew> crew_;
};

}  // namespace toll::latency
