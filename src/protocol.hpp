// Protocol 1 (docs/protocol.md): requests from JSON, answers to JSON. Pure; no input or output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "launch.hpp"

namespace toll::protocol {

enum class RequestType { batch, samples, allocations, stop };

struct Request {
    RequestType type = RequestType::stop;
    std::uint64_t amount = 0;  // iterations, or count
    Launch::Seed layout;
};

/// Throws UsageError for anything that is no request.
[[nodiscard]] Request parse(const std::string& line);

// Each is one line, its end included.
[[nodiscard]] std::string description(std::span<const Contender> contenders);
[[nodiscard]] std::string ready(const Launch& launch);
[[nodiscard]] std::string batch(const Batch& batch, const Counters& counters);
[[nodiscard]] std::string samples(const Batch& batch, const Counters& counters, std::size_t bytes);
[[nodiscard]] std::string allocations(const Batch& counted, const AllocationCounts& counts);
[[nodiscard]] std::string stopped();
[[nodiscard]] std::string error(std::string_view kind, std::string_view message);

/// What is being handled now, as an error line of the right kind. Call inside a catch block.
[[nodiscard]] std::string current_error();

}  // namespace toll::protocol
