#pragma once

// tasks/channel: producers send numbers through one channel, from which as many consumers take them. The sum
// of what the consumers took is the answer. Source: the program `channel` of tzcnt/runtime-benchmarks, an
// asynchronous queue of many producers and consumers.

#include "../shared/shares.hpp"

#include <toll/contender.hpp>
#include <toll/errors.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace toll::channel {

/// Messages that a channel holds at most, where it is bounded. Who sends more waits.
inline constexpr std::size_t capacity = 1024;

struct Inputs {
    std::uint64_t messages;  ///< of all producers: 1, 2, ... `messages`
    unsigned threads;        ///< operating-system threads that run producers and consumers

    /// How many producers there are, and how many consumers.
    [[nodiscard]] unsigned a_side() const noexcept { return std::max(1U, threads / 2); }

    /// What one producer sends.
    [[nodiscard]] Share share(unsigned index) const noexcept { return share_of(messages, a_side(), index); }
};

/// What consumers took.
struct Received {
    std::uint64_t count = 0;
    std::uint64_t sum = 0;

    void add(std::uint64_t message) noexcept {
        ++count;
        sum += message;
    }
    Received& operator+=(const Received& other) noexcept {
        count += other.count;
        sum += other.sum;
        return *this;
    }
};

/// What a contender models: made once with its threads, then asked again and again.
///  - `run()` starts a unit for each producer and each consumer, and returns what all consumers took once all
///    have ended; producer i sends `inputs.share(i)`.
template <class T>
concept Channel = std::constructible_from<T, const Inputs&> && requires(T channel) {
    { channel.run() } -> std::same_as<Received>;
};

template <Channel T>
class Workload {
public:
    static constexpr WorkloadInfo info{"tasks/channel", Kind::batch, "ns", "message"};

    static std::vector<Parameter> parameters() {
        return {
            {"messages", "100000", "messages", "numbers that go through the channel, of all producers"},
            {"threads", "cpus", "threads",
             "operating-system threads that run half as many producers and consumers each, at least one"}};
    }

    explicit Workload(const Arguments& arguments)
        : inputs_{arguments.number("messages", 1, most_messages),
                  static_cast<unsigned>(arguments.number("threads", 1, most_threads))},
          channel_{inputs_} {}

    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return inputs_.messages; }

    Checksum run(std::uint64_t iterations) {
        Checksum sum{0};
        for (std::uint64_t i = 0; i < iterations; ++i) {
            const Received received = channel_.run();
            if (received.count != inputs_.messages) {
                throw WrongAnswer(std::to_string(received.count) + " messages came of " +
                                  std::to_string(inputs_.messages));
            }
            sum += received.sum;
        }
        return sum;
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept {
        return iterations * (inputs_.messages * (inputs_.messages + 1) / 2);
    }

    [[nodiscard]] Footing footing() const {
        Footing footing;
        footing.set({"threads", inputs_.threads});
        footing.set({"producers", inputs_.a_side()});
        footing.set({"consumers", inputs_.a_side()});
        return footing;
    }

private:
    static constexpr std::uint64_t most_messages = 1'000'000'000;  // their sum fits into 64 bits
    static constexpr std::uint64_t most_threads = 1024;

    Inputs inputs_;
    T channel_;
};

}  // namespace toll::channel
