// C beside C++, neither of them optimised: variables live on the stack, nothing is inlined.

#include <string>
#include <vector>

#include "answers.hpp"

extern "C" {
struct Account {
    int number;
    double balance;
    char owner[12];
};
unsigned c_hash(const char* text);
double c_interest(const Account* account);
int c_sorted(int* numbers, int count);
extern const Account c_accounts[3];
}

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::repeat;

Answer hashes() {
    Answer sum = 0;
    // MUTATE[BM_Hashes]: "second" => "zecond"
    for (const char* text : {"first", "second", "third"}) { sum = joined(sum, c_hash(text)); }
    return sum;
}

Answer interests() {
    double sum = 0.0;
    // MUTATE[BM_Interests]: sum += => sum -=
    for (const Account& account : c_accounts) { sum += c_interest(&account); }
    // MUTATE[BM_Interests]: 1e6 => 1e5
    return static_cast<Answer>(std::abs(sum) * 1e6);
}

Answer sorts() {
    std::vector<int> numbers;
    // MUTATE[BM_Sorts]: * 31 => * 37
    for (int index = 0; index < 20; ++index) { numbers.push_back(index * 31 % 23); }
    // MUTATE[BM_Sorts]: auto copy => auto again = numbers, copy
    auto copy = numbers;
    const int swaps = c_sorted(copy.data(), static_cast<int>(copy.size()));
    Answer sum = static_cast<Answer>(swaps);
    for (const int number : copy) { sum = joined(sum, static_cast<Answer>(number)); }
    return sum;
}

void BM_Hashes(benchmark::State& state) {
    repeat(state, hashes);
}
void BM_Interests(benchmark::State& state) {
    repeat(state, interests);
}
void BM_Sorts(benchmark::State& state) {
    repeat(state, sorts);
}
BENCHMARK(BM_Hashes);
BENCHMARK(BM_Interests);
BENCHMARK(BM_Sorts);

}  // namespace

BENCHMARK_MAIN();
