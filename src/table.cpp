#include "table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

#include "failure.hpp"
#include "launch.hpp"

namespace toll {
namespace {

using Words = std::span<const std::string_view>;

constexpr double batch_target_ns = 20e6;  // long beside the clock, short beside a reader's patience
constexpr int batches = 11;
constexpr std::uint64_t samples = 10'000;

double quantile(std::vector<double> values, double p) {
    const std::ptrdiff_t rank = std::lround(p * static_cast<double>(values.size() - 1));
    std::ranges::nth_element(values, values.begin() + rank);
    return values[static_cast<std::size_t>(rank)];
}

/// How many iterations last about batch_target_ns.
std::uint64_t fill_batch(Launch& launch) {
    std::uint64_t iterations = 1;
    for (;;) {
        const double ns = launch.batch(iterations, std::nullopt).wall_ns;
        if (ns >= batch_target_ns / 2 || iterations > Launch::most_iterations / 16) { return iterations; }
        // At most tenfold: the first batches are the slowest and say little about the later ones.
        const double factor = std::clamp(batch_target_ns / std::max(ns, 1.0), 2.0, 10.0);
        iterations = static_cast<std::uint64_t>(static_cast<double>(iterations) * factor);
    }
}

void show_detail(const std::string& name, double value) {
    std::printf("  %-26s %12.4g\n", name.c_str(), value);
}

void show_batches(Launch& launch) {
    const std::uint64_t iterations = fill_batch(launch);
    std::vector<double> wall;
    std::vector<double> cpu;
    std::vector<double> switches;
    std::map<std::string, std::vector<double>> details;
    for (int i = 0; i < batches; ++i) {
        const Batch batch = launch.batch(iterations, std::nullopt);
        const auto units = static_cast<double>(std::max<std::uint64_t>(batch.units, 1));
        wall.push_back(batch.wall_ns / units);
        cpu.push_back(static_cast<double>(batch.used.cpu_ns) / units);
        const auto both = batch.used.voluntary_switches + batch.used.involuntary_switches;
        switches.push_back(static_cast<double>(both) / units);
        for (const auto& [name, value] : batch.details) { details[name].push_back(value); }
    }
    const Contender& contender = launch.contender();
    std::printf("%-28.*s %12.4g %12.4g %12.4g %12.4g %12.3g\n", static_cast<int>(contender.name.size()),
                contender.name.data(), quantile(wall, 0.5), quantile(wall, 0), quantile(wall, 1),
                quantile(cpu, 0.5), quantile(switches, 0.5));
    for (const auto& [name, values] : details) { show_detail(name, quantile(values, 0.5)); }
}

void show_samples(Launch& launch) {
    (void)launch.samples(samples / 10, std::nullopt);  // warm
    const Batch batch = launch.samples(samples, std::nullopt);
    const std::vector<double> ns(launch.nanoseconds().begin(), launch.nanoseconds().end());
    const Contender& contender = launch.contender();
    std::printf("%-28.*s %12.4g %12.4g %12.4g %12.4g %12.4g\n", static_cast<int>(contender.name.size()),
                contender.name.data(), quantile(ns, 0.5), quantile(ns, 0.9), quantile(ns, 0.99),
                quantile(ns, 0.999), quantile(ns, 1));
    for (const auto& [name, value] : batch.details) { show_detail(name, value); }
}

void show_heading(const Contender& contender) {
    const WorkloadInfo& workload = contender.workload;
    std::printf("%.*s, %.*s per %.*s\n", static_cast<int>(workload.name.size()), workload.name.data(),
                static_cast<int>(workload.unit.size()), workload.unit.data(),
                static_cast<int>(workload.per.size()), workload.per.data());
    if (workload.kind == Kind::batch) {
        std::printf("%-28s %12s %12s %12s %12s %12s\n", "contender", "median", "fastest", "slowest",
                    "CPU time", "switches");
    } else {
        std::printf("%-28s %12s %12s %12s %12s %12s\n", "contender", "p50", "p90", "p99", "p99.9", "max");
    }
}

void show_clock(const Clock& clock) {
    std::printf("clock: %.*s, %.3g ns a step, overhead of %.3g ns removed",
                static_cast<int>(clock.source_name().size()), clock.source_name().data(),
                clock.resolution_ns(), clock.overhead_ns());
    std::printf("%s%s\n", clock.reason().empty() ? "" : "; ", clock.reason().c_str());
}

/// Contenders that fail are named and do not keep the others from being shown.
void show_one(const Contender& contender, Words values, bool only) {
    try {
        Launch launch(contender, values);
        if (contender.workload.kind == Kind::batch) {
            show_batches(launch);
        } else {
            show_samples(launch);
        }
        if (only) { show_clock(launch.clock()); }
    } catch (const UsageError&) { throw; } catch (...) {
        if (only) { throw; }
        std::printf("%-28.*s %s\n", static_cast<int>(contender.name.size()), contender.name.data(),
                    current_failure().c_str());
    }
}

}  // namespace

std::string help_text() {
    std::string text =
        "usage: PROGRAM [CONTENDER] [name=value ...]   measure here and print a table\n"
        "       PROGRAM describe                        what this program offers, as JSON\n"
        "       PROGRAM serve WORKLOAD CONTENDER [name=value ...]\n"
        "                                               speak toll's protocol on standard input\n\n"
        "contenders and parameters:\n";
    for (const Contender& contender : contenders()) {
        text += "  " + std::string(contender.name) + "  (" + std::string(contender.workload.name) + ")\n";
        for (const Parameter& parameter : contender.parameters()) {
            text += "      " + parameter.name + "=" + parameter.default_value + "  " + parameter.meaning +
                    (parameter.unit.empty() ? "" : ", in " + parameter.unit) + "\n";
        }
    }
    const std::string example = contenders().empty() ? "" : std::string(contenders().front().name);
    return text + "\nexample: PROGRAM " + example + "\n";
}

void show_table(Words words) {
    const bool named = !words.empty() && words.front().find('=') == std::string_view::npos;
    if (named) {
        const Contender& contender = find_contender("", words.front());
        show_heading(contender);
        show_one(contender, words.subspan(1), true);
        return;
    }
    std::string_view workload;
    for (const Contender& contender : contenders()) {
        if (contender.workload.name != workload) { show_heading(contender); }
        workload = contender.workload.name;
        show_one(contender, words, contenders().size() == 1);
    }
}

}  // namespace toll
