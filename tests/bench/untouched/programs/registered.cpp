// Benchmarks that are made while the program starts: what they run on is told to them by main, by a fixture,
// by a function that is called before them.

#include <numeric>
#include <string>
#include <vector>

#include "answers.hpp"

namespace far {
void prepare(const benchmark::State& state);
extern untouched::Answer prepared;
}  // namespace far

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;

void run(benchmark::State& state, const std::vector<int>& numbers) {
    repeat(state, [&numbers] {
        Answer sum = 0;
        for (const int number : numbers) { sum = joined(sum, static_cast<Answer>(number)); }
        return sum;
    });
}

void of_text(benchmark::State& state, const char* text) {
    repeat(state, [text] {
        Answer sum = 0;
        for (const char* letter = text; *letter != '\0'; ++letter) {
            sum = joined(sum, static_cast<Answer>(*letter));
        }
        return sum;
    });
}
// MUTATE[BM_Text]: "told to it" => "sold to it"
BENCHMARK_CAPTURE(of_text, BM_Text, "told to it");

class Fixture : public benchmark::Fixture {
public:
    void SetUp(benchmark::State& state) override {
        (void)state;
        // MUTATE[BM_Fixture]: (30) => (31)
        numbers_.resize(30);
        // MUTATE[BM_Fixture]: 5) => 6)
        std::iota(numbers_.begin(), numbers_.end(), 5);
    }
    std::vector<int> numbers_;
};

BENCHMARK_DEFINE_F(Fixture, BM_Fixture)(benchmark::State& state) {
    // MUTATE[BM_Fixture]: std::vector<int>& => std::vector<int>
    const std::vector<int>& numbers = numbers_;
    repeat(state,
           [&numbers] { return static_cast<Answer>(std::accumulate(numbers.begin(), numbers.end(), 0)); });
}
BENCHMARK_REGISTER_F(Fixture, BM_Fixture);

void BM_Prepared(benchmark::State& state) {
    repeat(state, [] { return far::prepared * 3; });
}
// MUTATE[BM_Prepared]: ->Setup(far::prepare) => ->Unit(benchmark::kNanosecond)
BENCHMARK(BM_Prepared)->Setup(far::prepare);

}  // namespace

int main(int argc, char** argv) {
    // MUTATE[BM_Given]: 7, 8 => 8, 7
    const std::vector<int> numbers{5, 6, 7, 8};
    benchmark::RegisterBenchmark("BM_Given", [&numbers](benchmark::State& state) { run(state, numbers); });
    // MUTATE[BM_Length]: (40) => (41)
    const std::vector<int> zeros(40);
    benchmark::RegisterBenchmark("BM_Length", [zeros](benchmark::State& state) { run(state, zeros); });
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
