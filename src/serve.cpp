#include "toll/serve.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "channel.hpp"
#include "failure.hpp"
#include "protocol.hpp"
#include "table.hpp"

namespace toll {
namespace {

using Words = std::span<const std::string_view>;

constexpr int exit_ok = 0;
constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

/// Keeps the protocol's channel to ourselves: whatever a contender prints goes to standard error,
/// where it cannot pass for an answer.
int take_standard_output() noexcept {
    const int mine = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (mine < 0) { return STDOUT_FILENO; }
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return mine;
}

/// The samples as the bytes that follow their header line.
std::string_view raw(std::span<const float> values) {
    static_assert(std::endian::native == std::endian::little, "protocol 1 carries little-endian floats");
    return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

/// Answers one request. Returns whether another may follow.
bool answer(Launch& launch, const protocol::Request& request, const Channel& channel) {
    switch (request.type) {
        case protocol::RequestType::batch:
            channel.write(protocol::batch(launch.batch(request.amount, request.layout), launch.counters()));
            return true;
        case protocol::RequestType::samples: {
            const Batch batch = launch.samples(request.amount, request.layout);
            const auto bytes = raw(launch.nanoseconds());
            channel.write(protocol::samples(batch, launch.counters(), bytes.size()));
            channel.write(bytes);
            return true;
        }
        case protocol::RequestType::allocations: {
            Batch counted;
            const AllocationCounts counts = launch.allocations(request.amount, counted);
            channel.write(protocol::allocations(counted, counts));
            return true;
        }
        case protocol::RequestType::stop:
            launch.end();
            channel.write(protocol::stopped());
            return false;
    }
    return false;
}

void serve(Words words, Channel& channel) {
    if (words.size() < 2) { throw UsageError("serve needs WORKLOAD CONTENDER, then name=value ..."); }
    Launch launch(find_contender(words[0], words[1]), words.subspan(2));
    channel.write(protocol::ready(launch));
    while (const auto line = channel.read_line()) {
        if (!answer(launch, protocol::parse(*line), channel)) { return; }
    }
}

int serve_and_report(Words words) {
    // A vanished reader must end in our own hands (EPIPE), not in a signal that leaves no trace.
    std::signal(SIGPIPE, SIG_IGN);
    Channel channel(STDIN_FILENO, take_standard_output());
    try {
        try {
            serve(words, channel);
            return exit_ok;
        } catch (const Disconnected&) { throw; } catch (...) {
            channel.write(protocol::current_error());
        }
    } catch (const Disconnected& gone) { std::fprintf(stderr, "toll: %s\n", gone.what()); }
    return exit_failed;
}

int show_by_hand(Words words) {
    try {
        show_table(words);
        return exit_ok;
    } catch (const UsageError& mistake) {
        std::fprintf(stderr, "%s\n\n%s", mistake.what(), help_text().c_str());
        return exit_usage;
    } catch (...) {
        std::fprintf(stderr, "%s\n", current_failure().c_str());
        return exit_failed;
    }
}

}  // namespace

int run_program(int argc, const char* const* argv) {
    const std::vector<std::string_view> all(argv + std::min(argc, 1), argv + argc);
    const Words words(all);
    const std::string_view verb = words.empty() ? "" : words.front();
    if (verb == "describe") {
        std::fputs(protocol::description(contenders()).c_str(), stdout);
        return std::fflush(stdout) == 0 ? exit_ok : exit_failed;
    }
    if (verb == "serve") { return serve_and_report(words.subspan(1)); }
    if (verb == "--help" || verb == "-h" || verb == "help") {
        std::fputs(help_text().c_str(), stdout);
        return exit_ok;
    }
    return show_by_hand(words);
}

}  // namespace toll
