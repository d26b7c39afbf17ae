#pragma once

// tasks/fib: fib(n) = fib(n - 1) + fib(n - 2) by calls that fork one of the two and make the other one
// themselves; the n-th Fibonacci number is the answer. Nothing but forking and joining is in it.
// Source: the Cilk-5 paper (Frigo, Leiserson, Randall, PLDI 1998), and every fork-join runtime since.

#include <toll/contender.hpp>
#include <toll/keep.hpp>

#include <concepts>
#include <cstdint>
#include <vector>

namespace toll::fib {

struct Inputs {
    std::uint64_t n;   ///< which Fibonacci number
    unsigned threads;  ///< operating-system threads that run the tasks
};

/// The n-th Fibonacci number, by addition.
[[nodiscard]] constexpr std::uint64_t fibonacci(std::uint64_t n) noexcept {
    std::uint64_t before = 1;
    std::uint64_t number = 0;
    for (; n > 0; --n) {
        const std::uint64_t next = before + number;
        before = number;
        number = next;
    }
    return number;
}

/// Calls of 2 or more, each of which forks once: fib(n + 1) - 1.
[[nodiscard]] constexpr std::uint64_t forks(std::uint64_t n) noexcept {
    return n < 2 ? 0 : fibonacci(n + 1) - 1;
}

/// What a contender models: made once with its threads, then asked again and again.
///  - `run(n)` returns the n-th Fibonacci number, by one forked call in each of 2 or more;
///  - `once_per_process` (optional): true for a library that cannot be set up twice in one process.
template <class T>
concept Forking = std::constructible_from<T, const Inputs&> && requires(T runtime, std::uint64_t n) {
    { runtime.run(n) } -> std::same_as<std::uint64_t>;
};

template <Forking T>
class Workload {
public:
    static constexpr WorkloadInfo info{"tasks/fib", Kind::batch, "ns", "task"};
    static constexpr bool once_per_process = requires { requires T::once_per_process; };

    static std::vector<Parameter> parameters() {
        return {
            {"n", "27", "",
             "which Fibonacci number; each call of 2 or more forks the one of n - 1 and makes the one of n "
             "- 2 itself"},
            {"threads", "cpus", "threads", "operating-system threads that run the tasks"}};
    }

    explicit Workload(const Arguments& arguments)
        : inputs_{arguments.number("n", fewest, most),
                  static_cast<unsigned>(arguments.number("threads", 1, most_threads))},
          runtime_{inputs_} {}

    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return forks(inputs_.n); }

    Checksum run(std::uint64_t iterations) {
        Checksum sum{0};
        for (std::uint64_t i = 0; i < iterations; ++i) {
            std::uint64_t n = inputs_.n;
            keep_changed(n);  // else a compiler that sees through a contender calls once and multiplies
            sum += runtime_.run(n);
        }
        return sum;
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept {
        return iterations * fibonacci(inputs_.n);
    }

    [[nodiscard]] Footing footing() const {
        Footing footing;
        footing.set({"threads", inputs_.threads});
        return footing;
    }

private:
    static constexpr std::uint64_t fewest = 2;  // below nobody forks
    static constexpr std::uint64_t most = 60;   // days of a CPU
    static constexpr std::uint64_t most_threads = 1024;

    Inputs inputs_;
    T runtime_;
};

}  // namespace toll::fib
