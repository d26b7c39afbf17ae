#pragma once

// tasks/socket: one thread sends requests over several TCP connections, a second one answers each. On a
// connection a request waits for the answer to the one before. The sum of the answers is the answer. Source:
// the program `io_socket_st` of tzcnt/runtime-benchmarks.

#include "../shared/shares.hpp"

#include <toll/contender.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace toll::socket {

/// What is sent: a request has its number in the first word, and other numbers made of it behind.
using Message = std::array<std::uint64_t, 8>;

[[nodiscard]] inline Message request(std::uint64_t number) noexcept {
    Message message{};
    for (std::size_t i = 0; i < message.size(); ++i) { message[i] = number + i; }
    return message;
}

/// Each word twice as large.
[[nodiscard]] inline Message answer_to(const Message& request) noexcept {
    Message message{};
    for (std::size_t i = 0; i < message.size(); ++i) { message[i] = 2 * request[i]; }
    return message;
}

/// Twice `number`, if that is the answer to the request of this number, else 0.
[[nodiscard]] inline std::uint64_t checked(const Message& answer, std::uint64_t number) noexcept {
    return answer == answer_to(request(number)) ? answer[0] : 0;
}

struct Inputs {
    std::uint64_t requests;  ///< over all connections: numbers 1, 2, ... `requests`
    unsigned connections;

    /// Numbers of the requests of one connection.
    [[nodiscard]] Share share(unsigned connection) const noexcept {
        return share_of(requests, connections, connection);
    }
};

/// What a contender models: made once with its connections and the thread that answers, then asked again and
/// again.
///  - `run()` has the requests sent and returns the sum of what `checked` says of the answers;
///  - `footing()` (optional): what the contender was seen to stand on besides what the workload shows.
template <class T>
concept Pair = std::constructible_from<T, const Inputs&> && requires(T pair) {
    { pair.run() } -> std::same_as<std::uint64_t>;
};

template <Pair T>
class Workload {
public:
    static constexpr WorkloadInfo info{"tasks/socket", Kind::batch, "ns", "request"};

    static std::vector<Parameter> parameters() {
        return {{"requests", "10000", "requests", "requests over all connections, each with its answer"},
                {"connections", "20", "connections", "TCP connections over loopback, open all along"}};
    }

    explicit Workload(const Arguments& arguments)
        : inputs_{arguments.number("requests", 1, most_requests),
                  static_cast<unsigned>(arguments.number("connections", 1, most_connections))},
          pair_{inputs_} {}

    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return inputs_.requests; }

    Checksum run(std::uint64_t iterations) {
        Checksum sum{0};
        for (std::uint64_t i = 0; i < iterations; ++i) { sum += pair_.run(); }
        return sum;
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept {
        return iterations * (inputs_.requests * (inputs_.requests + 1));
    }

    [[nodiscard]] Footing footing() const {
        Footing footing;
        footing.set({"connections", inputs_.connections});
        footing.set({"threads", threads});
        if constexpr (requires { pair_.footing(); }) {
            const Footing own = pair_.footing();
            for (const auto& [name, value] : own.all()) {
                std::visit([&, &key = name](const auto& known) { footing.set({key, known}); }, value);
            }
        }
        return footing;
    }

private:
    static constexpr unsigned threads = 2;                         // that work: one asks, one answers
    static constexpr std::uint64_t most_requests = 1'000'000'000;  // their sum fits into 64 bits
    static constexpr std::uint64_t most_connections = 400;         // of two descriptors each

    Inputs inputs_;
    T pair_;
};

}  // namespace toll::socket
