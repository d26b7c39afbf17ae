// How the benchmarks of the library itself measure and print.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "toll/clock.hpp"

namespace toll::bench {

/// One figure; `bar` is what it may be at most, NaN where it is only shown.
struct Figure {
    std::string what;
    double value;
    std::string unit;
    double bar;
    bool met;
};

/// Prints the JSON object; returns the exit code.
inline int print(const std::string& name, const std::vector<Figure>& figures) {
    bool all_met = true;
    std::printf("{\"bench\": \"%s\", \"figures\": [", name.c_str());
    for (std::size_t i = 0; i < figures.size(); ++i) {
        const Figure& figure = figures[i];
        const std::string bar = std::isnan(figure.bar) ? "null" : std::to_string(figure.bar);
        std::printf("%s\n  {\"what\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"bar\": %s, \"met\": %s}",
                    i == 0 ? "" : ",", figure.what.c_str(), figure.value, figure.unit.c_str(), bar.c_str(),
                    figure.met ? "true" : "false");
        all_met = all_met && figure.met;
    }
    std::printf("\n]}\n");
    return all_met ? 0 : 1;
}

/// Shown without a bar.
inline Figure shown(std::string what, double value, std::string unit) {
    return {std::move(what), value, std::move(unit), std::numeric_limits<double>::quiet_NaN(), true};
}

/// At most `bar`.
inline Figure at_most(std::string what, double value, std::string unit, double bar) {
    return {std::move(what), value, std::move(unit), bar, value <= bar};
}

/// Within `bar` of `target`, as a share of it: 3.02 against 3 is 0.67 %.
inline Figure within_percent(std::string what, double value, double target, double bar) {
    const double percent = std::abs(value / target - 1) * 100;
    return {std::move(what), percent, "%", bar, percent <= bar};
}

inline double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// The fastest of many interleaved repetitions of each piece of work, in nanoseconds. A shared
/// machine only ever adds time; interleaving gives every piece the same quiet moments.
inline std::vector<double> fastest(const Clock& clock, int repetitions,
                                   const std::vector<std::function<void()>>& pieces) {
    std::vector<double> best(pieces.size(), std::numeric_limits<double>::infinity());
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            const Ticks from = clock.start();
            pieces[i]();
            best[i] = std::min(best[i], clock.elapsed_ns(from, clock.stop()));
        }
    }
    return best;
}

}  // namespace toll::bench
