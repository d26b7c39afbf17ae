// std::function, lambdas and comparators: what is called lies in objects, on the heap, in libc's hands.

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "answers.hpp"

namespace far {
using Act = std::function<untouched::Answer(untouched::Answer)>;
std::map<std::string, Act>& registry();
std::vector<int> numbers();
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

Answer sorted() {
    std::vector<int> numbers = far::numbers();
    // MUTATE[BM_Sorted]: a % 10 < b % 10 => a % 11 < b % 11
    std::stable_sort(numbers.begin(), numbers.end(), [](int a, int b) { return a % 10 < b % 10; });
    Answer sum = 0;
    for (const int number : numbers) { sum = joined(sum, static_cast<Answer>(number)); }
    // MUTATE[BM_Sorted]: std::greater<> => std::less<>
    std::sort(numbers.begin(), numbers.end(), std::greater<>());
    for (const int number : numbers) { sum = joined(sum, static_cast<Answer>(number)); }
    return sum;
}

/// The comparator is called by libc: only its address stands in the code.
int compared(const void* a, const void* b) {
    const int first = *static_cast<const int*>(a);
    const int second = *static_cast<const int*>(b);
    // MUTATE[BM_CalledBack]: first - second => second - first
    return first - second;
}

int compared_otherwise(const void* a, const void* b) {
    // MUTATE[BM_CalledBack]: ? 5 : 6 => ? 5 : -6
    return compared(b, a) > 0 ? 5 : 6;
}

Answer called_back() {
    std::vector<int> numbers = far::numbers();
    // MUTATE[BM_CalledBack]: compared) => compared_otherwise)
    std::qsort(numbers.data(), numbers.size(), sizeof(int), compared);
    Answer sum = static_cast<Answer>(compared_otherwise(&numbers[0], &numbers[1]));
    for (const int number : numbers) { sum = joined(sum, static_cast<Answer>(number)); }
    return sum;
}

/// Filled by initialisers of the other file: from here, nothing but the heap leads there.
Answer registered() {
    Answer sum = 1;
    for (const auto& [name, act] : far::registry()) { sum = joined(sum, act(sum) + name.size()); }
    return sum;
}

Answer captured() {
    // MUTATE[BM_Captured]: factor = 3 => factor = 4
    const Answer factor = 3;
    std::vector<far::Act> acts;
    // MUTATE[BM_Captured]: value * factor => value + factor
    acts.emplace_back([factor = opaque(factor)](Answer value) { return value * factor; });
    // MUTATE[BM_Captured]: value ^ 21 => value ^ 22
    acts.emplace_back([](Answer value) { return value ^ 21; });
    // MUTATE[BM_Captured]: acts[0] => acts[1]
    acts.push_back(acts[0]);
    Answer sum = 2;
    for (const far::Act& act : acts) { sum = joined(sum, act(sum)); }
    return sum;
}

void BM_Sorted(benchmark::State& state) {
    repeat(state, sorted);
}
void BM_CalledBack(benchmark::State& state) {
    repeat(state, called_back);
}
void BM_Registered(benchmark::State& state) {
    repeat(state, registered);
}
void BM_Captured(benchmark::State& state) {
    repeat(state, captured);
}
BENCHMARK(BM_Sorted);
BENCHMARK(BM_CalledBack);
BENCHMARK(BM_Registered);
BENCHMARK(BM_Captured);

}  // namespace

BENCHMARK_MAIN();
