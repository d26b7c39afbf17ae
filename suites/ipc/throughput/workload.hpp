#pragma once

// ipc/throughput: messages to another process, back to back.

#include "../shared/two_sides.hpp"

#include <toll/clock.hpp>
#include <toll/contender.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace toll::throughput {

using ipc::Channel;

/// A batch runs from the first message sent to the sight of the answerer having checked the last. An
/// iteration is several times as many messages as the channel can hold: a batch that fits would tell how
/// quickly it is filled.
template <Channel C>
class Workload {
public:
    static constexpr WorkloadInfo info{"ipc/throughput", Kind::batch, "ns", "message"};
    static constexpr bool once_per_process = ipc::set_up_once<C>;

    static std::vector<Parameter> parameters() { return {ipc::bytes_parameter(), ipc::between_parameter()}; }

    explicit Workload(const Arguments& arguments)
        : sides_(arguments, ipc::never_sleeps<C>),
          messages_(ipc::Side::asker, sides_.plan().bytes),
          messages_per_iteration_(std::max<std::uint64_t>(1, fills * sides_.held())) {}

    void before_batch() { sides_.keep_awake(); }
    void after_batch() noexcept { sides_.let_sleep(); }

    Checksum run(std::uint64_t iterations) {
        const Ticks from = clock_.start();
        const std::uint64_t count = iterations * messages_per_iteration_;
        sides_.request(ipc::Errand::take, next_, count);
        for (std::uint64_t number = next_; number != next_ + count; ++number) {
            sides_.end().send(messages_.stamped(number));
            sides_.note_progress(number);
        }
        ipc::flush(sides_.end());
        next_ += count;
        const std::uint64_t right = sides_.done();
        seconds_ = clock_.elapsed_ns(from, clock_.stop()) / 1e9;
        messages_sent_ = static_cast<double>(count);
        return right / messages_per_iteration_;
    }

    /// About the last request.
    [[nodiscard]] Details details() const {
        Details told{{"copies", C::copies}};
        if (seconds_ > 0) {
            told["messages_per_second"] = messages_sent_ / seconds_;
            told["bytes_per_second"] = messages_sent_ * static_cast<double>(sides_.plan().bytes) / seconds_;
        }
        return told;
    }

    [[nodiscard]] Resources used_elsewhere() const noexcept { return sides_.used_elsewhere(); }
    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return messages_per_iteration_; }
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept { return iterations; }
    [[nodiscard]] Footing footing() const { return sides_.footing(); }

private:
    static constexpr std::uint64_t fills = 4;  ///< how often the channel is filled in an iteration

    Clock clock_ = Clock::system();
    ipc::TwoSides<C> sides_;
    ipc::Messages messages_;
    std::uint64_t messages_per_iteration_;
    std::uint64_t next_ = 1;  ///< number of the next message
    double seconds_ = 0;      ///< of the last request
    double messages_sent_ = 0;
};

}  // namespace toll::throughput
