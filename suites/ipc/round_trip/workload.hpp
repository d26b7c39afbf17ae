#pragma once

// ipc/round_trip: one message to another process and its answer back. Question and contenders after
// ahsank/EvaluateIPC (see published.toml).

#include "../shared/two_sides.hpp"

#include <toll/contender.hpp>

#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace toll::round_trip {

using ipc::Channel;

/// How a side waits for a message. blocking: as the channel lets it, whatever that has come to when the
/// message is sent; asleep: each waiter is seen asleep in the kernel before the message to it is sent;
/// polling: it never sleeps.
enum class Waiter { blocking, asleep, polling };

/// A sample runs from the asker's clock just before it sends to just after it has received. In mode asleep
/// the answerer reads the clock too, when the message has come and just before its answer: what it did
/// between, which is to look until the asker sleeps, is taken from the sample. Every time begins and ends on
/// one CPU.
template <Channel C>
class Workload {
public:
    static constexpr WorkloadInfo info{"ipc/round_trip", Kind::samples, "ns", "round trip"};
    static constexpr bool once_per_process = ipc::set_up_once<C>;

    static std::vector<Parameter> parameters() {
        return {
            ipc::bytes_parameter(),
            {"waiter", ipc::never_sleeps<C> ? "polling" : "blocking", "",
             "blocking: as the channel lets it, whatever the wait has come to; asleep: seen asleep in the "
             "kernel before the message is sent; polling: never sleeps"},
            ipc::between_parameter()};
    }

    explicit Workload(const Arguments& arguments)
        : waiter_(waiter_of(arguments)),
          sides_(arguments, waiter_ == Waiter::polling),
          messages_(ipc::Side::asker, sides_.plan().bytes) {}

    Checksum sample(std::span<float> nanoseconds, const Clock& clock) {
        const std::uint64_t trips = warm_ups + nanoseconds.size();
        sides_.request(waiter_ == Waiter::asleep ? ipc::Errand::answer_asleep : ipc::Errand::answer, next_,
                       trips);
        std::uint64_t right = 0;
        for (unsigned number = 0; number < warm_ups; ++number) {
            float untimed = 0;
            right += trip(untimed, clock) && messages_.received_whole(next_ - 1) ? 1 : 0;
        }
        const bool warm = right == warm_ups;
        right = 0;
        const Ticks from = clock.start();
        for (float& entry : nanoseconds) { right += trip(entry, clock) ? 1 : 0; }
        total_ns_ = clock.elapsed_ns(from, clock.stop());
        const bool whole = messages_.received_whole(next_ - 1);
        const bool all_right_there = sides_.done() == trips;
        // The looks until the other side sleeps are not the channel's.
        if (waiter_ == Waiter::asleep) {
            total_ns_ = std::accumulate(nanoseconds.begin(), nanoseconds.end(), 0.0);
        }
        samples_ = nanoseconds.size();
        return warm && whole && all_right_there ? right : 0;
    }

    /// About the last request.
    [[nodiscard]] Details details() const {
        Details told{{"copies", C::copies}};
        if (total_ns_ > 0) { told["trips_per_second"] = static_cast<double>(samples_) * 1e9 / total_ns_; }
        return told;
    }

    [[nodiscard]] Resources used_elsewhere() const noexcept { return sides_.used_elsewhere(); }
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept { return iterations; }
    [[nodiscard]] Footing footing() const {
        Footing seen = sides_.footing();
        if (waiter_ == Waiter::asleep) {
            seen.set({"waits", "sleeps in the kernel"});
            seen.set({"sleep_seen_by", sides_.sleep_seen_by()});
        }
        return seen;
    }

private:
    static constexpr unsigned warm_ups = 4;

    static Waiter waiter_of(const Arguments& arguments) {
        const std::string& waiter = arguments.text("waiter");
        if (waiter != "polling" && ipc::never_sleeps<C>) {
            throw Unsupported("this one never sleeps: --set waiter=polling");
        }
        if (waiter == "blocking") { return Waiter::blocking; }
        if (waiter == "asleep") { return Waiter::asleep; }
        if (waiter == "polling") { return Waiter::polling; }
        throw Unsupported("waiter is blocking, asleep or polling, got " + waiter);
    }

    /// Whether the answer was that to the message.
    bool trip(float& entry, const Clock& clock) {
        const std::uint64_t number = next_++;
        const auto message = messages_.stamped(number);
        const bool asleep = waiter_ == Waiter::asleep;
        if (asleep) { sides_.await_answerer_asleep(); }
        const Ticks sent = clock.start();
        sides_.end().send(message);
        sides_.end().receive(messages_.in());
        const Ticks received = clock.stop();
        const Ticks away = asleep ? sides_.control().away.load(std::memory_order_relaxed) : 0;
        entry = static_cast<float>(clock.elapsed_ns(sent + away, received));
        sides_.note_progress(number);
        return messages_.received(number);
    }

    Waiter waiter_;
    ipc::TwoSides<C> sides_;
    ipc::Messages messages_;
    std::uint64_t next_ = 1;  ///< number of the next message
    double total_ns_ = 0;     ///< of the last request's samples
    std::size_t samples_ = 0;
};

}  // namespace toll::round_trip
