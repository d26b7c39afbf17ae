#pragma once

// tasks/matmul: the product of two square matrices, block by block. A block of more than 32 rows is four
// products of its quarters, each a task of its own, and when they are done the four that are added to them.
// Source: the matrix product of mtmucha/coros, as in tzcnt/runtime-benchmarks, whose order of products it
// has.

#include <toll/contender.hpp>
#include <toll/errors.hpp>
#include <toll/keep.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace toll::matmul {

inline constexpr std::size_t leaf = 32;  ///< rows of a block that is multiplied at once
inline constexpr std::size_t smallest = 2 * leaf;
inline constexpr std::size_t largest = 2048;

/// Modulo 2^32, so that no sum overflows.
using Element = std::uint32_t;

struct Inputs {
    std::size_t n;     ///< rows and columns of each matrix
    unsigned threads;  ///< operating-system threads that run the tasks
};

/// Products of blocks below the whole: the tasks of one iteration.
[[nodiscard]] constexpr std::uint64_t products(std::size_t n) noexcept {
    std::uint64_t all = 0;
    for (std::uint64_t of_size = 8, size = n / 2; size >= leaf; of_size *= 8, size /= 2) { all += of_size; }
    return all;
}

/// A product of two square blocks, which lie in matrices of `stride` columns.
struct Product {
    const Element* left;
    const Element* right;
    Element* result;
    std::size_t size;  ///< rows of a block
    std::size_t stride;
    bool adds;  ///< to what is in `result`; else it takes its place

    /// The four that fill the quarters of the result.
    [[nodiscard]] std::array<Product, 4> first_half() const noexcept {
        return {quarter(0, 0, 0), quarter(0, 0, 1), quarter(1, 0, 0), quarter(1, 0, 1)};
    }

    /// The four that are added to those.
    [[nodiscard]] std::array<Product, 4> second_half() const noexcept {
        return {quarter(0, 1, 0), quarter(0, 1, 1), quarter(1, 1, 0), quarter(1, 1, 1)};
    }

    /// Of a block of `leaf` rows.
    void multiply() const noexcept {
        for (std::size_t i = 0; i < leaf; ++i) {
            std::array<Element, leaf> sums{};
            Element* const row = result + i * stride;
            if (adds) {
                for (std::size_t j = 0; j < leaf; ++j) { sums[j] = row[j]; }
            }
            for (std::size_t k = 0; k < leaf; ++k) {
                const Element factor = left[i * stride + k];
                const Element* const others = right + k * stride;
                for (std::size_t j = 0; j < leaf; ++j) { sums[j] += factor * others[j]; }
            }
            for (std::size_t j = 0; j < leaf; ++j) { row[j] = sums[j]; }
        }
    }

private:
    /// The `inner`-th of the two products that the quarter in row `i` and column `j` is the sum of.
    [[nodiscard]] Product quarter(std::size_t i, std::size_t inner, std::size_t j) const noexcept {
        const std::size_t half = size / 2;
        return {left + (i * stride + inner) * half,
                right + (inner * stride + j) * half,
                result + (i * stride + j) * half,
                half,
                stride,
                adds || inner > 0};
    }
};

/// What a contender models: made once with its threads, then asked again and again.
///  - `run(product)` does all of it, each product of blocks below it as a task, or three of four;
///  - `once_per_process` (optional): true for a library that cannot be set up twice in one process.
template <class T>
concept Multiplier = std::constructible_from<T, const Inputs&> && requires(T multiplier, const Product& all) {
    { multiplier.run(all) } -> std::same_as<void>;
};

template <Multiplier T>
class Workload {
public:
    static constexpr WorkloadInfo info{"tasks/matmul", Kind::batch, "ns", "task"};
    static constexpr bool once_per_process = requires { requires T::once_per_process; };

    static std::vector<Parameter> parameters() {
        return {{"n", "256", "", "rows and columns of the matrices, a power of two from 64 to 2048"},
                {"threads", "cpus", "threads", "operating-system threads that run the tasks"}};
    }

    explicit Workload(const Arguments& arguments)
        : inputs_{power_of_two(arguments.number("n", smallest, largest)),
                  static_cast<unsigned>(arguments.number("threads", 1, most_threads))},
          left_(inputs_.n * inputs_.n),
          right_(left_.size()),
          result_(left_.size()),
          multiplier_{inputs_} {
        for (std::size_t i = 0; i < inputs_.n; ++i) {
            for (std::size_t j = 0; j < inputs_.n; ++j) {
                left_[i * inputs_.n + j] = static_cast<Element>(3 * i + j + 1);
                right_[i * inputs_.n + j] = static_cast<Element>(i + 5 * j + 2);
            }
        }
        for_each_tile([this](std::size_t row, std::size_t column) { answer_ += element(row, column); });
    }

    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return products(inputs_.n); }

    Checksum run(std::uint64_t iterations) {
        Checksum sum{0};
        for (std::uint64_t i = 0; i < iterations; ++i) { sum += one_answer(); }
        return sum;
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept {
        return iterations * Checksum{answer_};
    }

    [[nodiscard]] Footing footing() const {
        Footing footing;
        footing.set({"threads", inputs_.threads});
        return footing;
    }

private:
    static constexpr std::uint64_t most_threads = 1024;

    static std::size_t power_of_two(std::uint64_t n) {
        if (!std::has_single_bit(n)) {
            throw UsageError("n must be a power of two, got " + std::to_string(n));
        }
        return static_cast<std::size_t>(n);
    }

    [[nodiscard]] Element& at(std::size_t row, std::size_t column) {
        return result_[row * inputs_.n + column];
    }

    /// What the sum over k of (3 row + k + 1) (k + 5 column + 2) comes to.
    [[nodiscard]] Element element(std::size_t row, std::size_t column) const noexcept {
        const std::uint64_t n = inputs_.n;
        const std::uint64_t one = 3 * row + 1;
        const std::uint64_t other = 5 * column + 2;
        return static_cast<Element>(n * one * other + (one + other) * (n * (n - 1) / 2) +
                                    (n - 1) * n * (2 * n - 1) / 6);
    }

    /// The answer of the first time, to which the difference is added of other elements from what they shall
    /// be: it is to be the same each time.
    Element one_answer() {
        // What is looked at is spoiled before: a tile that nobody fills would be right from the last time.
        for_each_tile([this](std::size_t row, std::size_t column) { at(row, column) = ~Element{0}; });
        keep_changed(left_);
        multiplier_.run({left_.data(), right_.data(), result_.data(), inputs_.n, inputs_.n, false});
        Element answer = answer_;
        for_each_tile(
            [&](std::size_t row, std::size_t column) { answer += at(row, column) - element(row, column); });
        ++asked_;
        return answer;
    }

    /// Calls `work` with the place of one element of each tile of `leaf` rows, another one each time: that is
    /// what tasks may have left out, done twice or too early.
    template <class Work>
    void for_each_tile(const Work& work) const {
        const std::size_t first = (asked_ + asked_ / leaf) % leaf;
        for (std::size_t row = asked_ % leaf; row < inputs_.n; row += leaf) {
            for (std::size_t column = first; column < inputs_.n; column += leaf) { work(row, column); }
        }
    }

    Inputs inputs_;
    std::vector<Element> left_;
    std::vector<Element> right_;
    std::vector<Element> result_;
    T multiplier_;
    std::uint64_t asked_ = 0;  ///< products so far
    Element answer_ = 0;       ///< the first one's
};

}  // namespace toll::matmul
