// Containers of the standard library, with an operator new of the program's own that libraries call too.

#include <map>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "answers.hpp"

namespace far {
untouched::Answer allocations();
const std::vector<std::string>& words();
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

Answer letters(const std::string& text) {
    Answer sum = text.size();
    for (const char letter : text) { sum = joined(sum, static_cast<Answer>(letter)); }
    return sum;
}

Answer strings() {
    Answer sum = 0;
    // MUTATE[BM_Strings]: const std::string& word => const std::string word
    for (const std::string& word : far::words()) {
        // MUTATE[BM_Strings]: "-and-" => "+and+"
        std::string longer = word + "-and-" + word;
        // MUTATE[BM_Strings]: longer.reserve(200) => longer.shrink_to_fit()
        longer.reserve(200);
        // MUTATE[BM_Strings]: insert(2, => insert(3,
        longer.insert(2, "inserted where it does not fit");
        sum = joined(sum, letters(longer));
    }
    return sum;
}

Answer ordered() {
    // MUTATE[BM_Ordered]: std::less<> => std::greater<>
    std::map<std::string, Answer, std::less<>> counts;
    // MUTATE[BM_Ordered]: ++counts[word] => counts[word] += 2
    for (const std::string& word : far::words()) { ++counts[word]; }
    Answer sum = 0;
    for (const auto& [word, count] : counts) { sum = joined(sum, letters(word) * count); }
    return sum;
}

Answer hashed() {
    std::unordered_map<std::string, Answer> places;
    // MUTATE[BM_Hashed]: places.reserve(100) => places.reserve(10)
    places.reserve(100);
    Answer number = 0;
    // MUTATE[BM_Hashed]: = ++number => = number += 3
    for (const std::string& word : far::words()) { places[word] = ++number; }
    Answer sum = 0;
    for (const std::string& word : far::words()) { sum = joined(sum, places.find(word)->second); }
    return sum;
}

/// All that allocates here is in libstdc++, and calls the operator new of the other file.
Answer counted() {
    const Answer before = far::allocations();
    std::ostringstream stream;
    // MUTATE[BM_Counted]: 40 => 41
    for (int number = 0; number < 40; ++number) { stream << number << "; "; }
    const std::string text = stream.str();
    // MUTATE[BM_Counted]: const Answer => const std::string copy = text; const Answer
    const Answer after = far::allocations();
    return joined(letters(text), after - before);
}

void BM_Strings(benchmark::State& state) {
    repeat(state, strings);
}
void BM_Ordered(benchmark::State& state) {
    repeat(state, ordered);
}
void BM_Hashed(benchmark::State& state) {
    repeat(state, hashed);
}
void BM_Counted(benchmark::State& state) {
    repeat(state, counted);
}
BENCHMARK(BM_Strings);
BENCHMARK(BM_Ordered);
BENCHMARK(BM_Hashed);
BENCHMARK(BM_Counted);

}  // namespace

BENCHMARK_MAIN();
