// Exceptions: which type a handler takes, and what a try block covers, stands in tables beside the code.

#include <new>
#include <stdexcept>
#include <string>

#include "answers.hpp"

namespace far {
void fail(int how);
void within(int how, untouched::Answer& destroyed);
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

/// The machine code is the same whatever types are caught: only the table of types differs.
[[gnu::noinline]] Answer caught(int how) {
    try {
        far::fail(how);
        // MUTATE[BM_Types]: std::out_of_range& => std::range_error&
    } catch (const std::out_of_range&) {
        return 1;
        // MUTATE[BM_Types]: const std::bad_alloc& => const std::bad_cast&
    } catch (const std::bad_alloc&) { return 2; } catch (const std::exception&) {
        // MUTATE[BM_Types]: return 3 => return 4
        return 3;
        // MUTATE[BM_Types]: (int number) => (long number)
    } catch (int number) { return 10 + static_cast<Answer>(number); } catch (...) {
        return 20;
    }
    return 0;
}

Answer types() {
    Answer sum = 0;
    for (int how = 0; how < 6; ++how) { sum = joined(sum, caught(opaque(how))); }
    return sum;
}

struct Guard {
    Answer& left;
    explicit Guard(Answer& counter) : left(counter) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    // MUTATE[BM_CleanUp]: + 7 => + 8
    ~Guard() { left = joined(left, left + 7); }
};

Answer clean_up() {
    Answer left = 1;
    for (int how = 0; how < 4; ++how) {
        try {
            const Guard guard(left);
            const Guard second(left);
            far::within(opaque(how), left);
            // MUTATE[BM_CleanUp]: std::logic_error& => std::runtime_error&
        } catch (const std::logic_error&) { left += 100; } catch (...) {
            // MUTATE[BM_CleanUp]: 10'000 => 10'001
            left += 10'000;
        }
    }
    return left;
}

/// Caught, changed, thrown on.
Answer thrown_on() {
    Answer sum = 0;
    try {
        try {
            // MUTATE[BM_ThrownOn]: opaque(5) => opaque(1)
            far::fail(opaque(5));
        } catch (std::string& text) {
            // MUTATE[BM_ThrownOn]: "more" => "less"
            text += "more";
            throw;
        } catch (const std::exception&) { sum = 5; }
    } catch (const std::string& text) {
        for (const char letter : text) { sum = joined(sum, static_cast<Answer>(letter)); }
    }
    return sum;
}

void BM_Types(benchmark::State& state) {
    repeat(state, types);
}
void BM_CleanUp(benchmark::State& state) {
    repeat(state, clean_up);
}
void BM_ThrownOn(benchmark::State& state) {
    repeat(state, thrown_on);
}
BENCHMARK(BM_Types);
BENCHMARK(BM_CleanUp);
BENCHMARK(BM_ThrownOn);

}  // namespace

BENCHMARK_MAIN();
