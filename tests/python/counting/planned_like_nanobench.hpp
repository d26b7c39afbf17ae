// Stands in for nanobench.h in tests: plans runs and prints its table as nanobench 4 does, and offers as much
// of its interface as they use. FACTOR is by how much a run grows that took far too little time: 10 in
// earnest. With ROTATED the first look at the clock comes from a place of its own, as a compiler may arrange.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#ifndef FACTOR
#define FACTOR 10
#endif

namespace ankerl::nanobench {

using Clock = std::chrono::steady_clock;

template <class T>
void doNotOptimizeAway(const T& value) {
    asm volatile("" : : "r,m"(value) : "memory");
}

inline double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

inline Clock::duration clock_resolution() {
    auto best = Clock::duration::max();
    for (int i = 0; i < 20; i++) {
        const auto before = Clock::now();
        auto after = Clock::now();
        while (after == before) { after = Clock::now(); }
        best = std::min(best, after - before);
    }
    return best;
}

class Bench {
public:
    Bench& epochs(std::size_t count) { return epochs_ = count, *this; }
    Bench& minEpochIterations(std::uint64_t count) { return fewest_ = count, *this; }
    Bench& epochIterations(std::uint64_t count) { return fixed_ = count, *this; }
    Bench& warmup(std::uint64_t count) { return warmup_ = count, *this; }
    Bench& batch(double count) { return batch_ = count, *this; }
    Bench& title(const std::string& text) { return title_ = text, *this; }

    template <class Op>
    Bench& run(const std::string& name, Op op) {
        static const auto resolution = clock_resolution();
        target_ = std::clamp<Clock::duration>(resolution * 1000, std::chrono::milliseconds(1),
                                              std::chrono::milliseconds(100));
        begin();
#ifdef ROTATED
        auto before = Clock::now();
        for (auto left = iterations();; before = Clock::now()) {
#else
        while (auto left = iterations()) {
            const auto before = Clock::now();
#endif
            while (left-- > 0) { op(); }
            const auto after = Clock::now();
            add(after - before);
#ifdef ROTATED
            left = iterations();
            if (left == 0) { break; }
#endif
        }
        print(name);
        return *this;
    }

private:
    // Out of line, as nanobench's are: else the compiler may look from more places than two.
    [[gnu::noinline]] std::uint64_t iterations() const { return iterations_; }

    [[gnu::noinline]] void begin() {
        each_.clear();
        total_ = 0;
        measures_ = fixed_ != 0;
        iterations_ = fixed_ != 0 ? fixed_ : warmup_ != 0 ? warmup_ : fewest_;
    }

    [[gnu::noinline]] void add(Clock::duration took) {
        const bool close = took * 3 >= target_ * 2;
        if (!measures_ && !close) {
            iterations_ = took * 10 < target_ ? iterations_ * FACTOR : next(took);
            return;
        }
        measures_ = true;
        total_ += iterations_;
        each_.push_back(std::chrono::duration<double>(took).count() / static_cast<double>(iterations_));
        iterations_ = each_.size() == epochs_ ? 0 : fixed_ != 0 ? fixed_ : next(took);
    }

    std::uint64_t next(Clock::duration took) {
        random_ = random_ * 6364136223846793005 + 1442695040888963407;
        const double share = static_cast<double>(target_.count()) / static_cast<double>(took.count());
        const double wanted =
            std::max(share * static_cast<double>(iterations_), static_cast<double>(fewest_));
        return static_cast<std::uint64_t>(
            wanted * (1 + 0.2 * static_cast<double>(random_ >> 40) / (1 << 24)) + 0.5);
    }

    /// By small pieces, as a stream that writes through C's stdout hands them on.
    void print(const std::string& name) const {
        const double median = median_of(each_);
        std::vector<double> errors;
        for (const double took : each_) { errors.push_back(std::fabs((took - median) / took)); }
        static std::string headed;
        if (headed != title_) {
            std::cout << std::endl << "|               ns/op |                op/s | " << title_ << std::endl;
            std::cout << "|--------------------:|--------------------:|:----------" << std::endl;
            headed = title_;
        }
        std::cout << column(median * 1e9 / batch_) << column(batch_ / median) << "| ";
        const bool unstable = median_of(errors) >= 0.05;
        if (unstable) { std::cout << ":wavy_dash: "; }
        std::cout << "`" + name + "`";
        if (unstable) {
            std::ostringstream mean;
            mean << std::setprecision(1) << std::fixed
                 << static_cast<double>(total_) / static_cast<double>(epochs_);
            std::cout << " (Unstable with ~" << mean.str()
                      << " iters. Increase `minEpochIterations` to e.g. 9)";
        }
        std::cout << std::endl;
    }

    static std::string column(double value) {
        char text[400];
        std::snprintf(text, sizeof text, "|%20.2f ", value);
        return text;
    }

    std::string title_ = "benchmark";
    double batch_ = 1;
    std::size_t epochs_ = 11;
    std::uint64_t fewest_ = 1;
    std::uint64_t fixed_ = 0;
    std::uint64_t warmup_ = 0;
    std::uint64_t iterations_ = 0;
    std::uint64_t total_ = 0;
    std::uint64_t random_ = 123;
    bool measures_ = false;
    Clock::duration target_{};
    std::vector<double> each_;
    const char* const mark_ = std::getenv("NANOBENCH_ENDLESS");
};

}  // namespace ankerl::nanobench
