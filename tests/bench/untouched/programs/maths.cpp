// Floating point, with libm: many a call differs in the name of what is called alone.

#include <cmath>

#include "answers.hpp"

namespace far {
double polynomial(double x);
double norm(const double* numbers, unsigned count);
}  // namespace far

namespace {

using untouched::Answer;
using untouched::opaque;
using untouched::repeat;

Answer rounded(double value) {
    return static_cast<Answer>(std::llround(value * 1e6));
}

Answer called() {
    double sum = 0.0;
    for (int index = 1; index < 9; ++index) {
        const double x = opaque(index) * 0.37;
        // MUTATE[BM_Called]: std::sin(x) => std::cos(x)
        sum += std::sin(x);
        // MUTATE[BM_Called]: std::log(x) => std::exp(x)
        sum -= std::log(x);
        // MUTATE[BM_Called]: x, 1.7 => x, 1.6
        sum += std::pow(x, 1.7);
    }
    return rounded(sum);
}

Answer polynomials() {
    double sum = 0.0;
    // MUTATE[BM_Polynomials]: 0.125 => 0.25
    for (int index = 0; index < 8; ++index) { sum += far::polynomial(opaque(index) * 0.125); }
    return rounded(sum);
}

Answer vectors() {
    double numbers[32];
    // MUTATE[BM_Vectors]: / 3 => / 7
    for (int index = 0; index < 32; ++index) { numbers[index] = opaque(static_cast<double>(index)) / 3; }
    // MUTATE[BM_Vectors]: < 31 => < 30
    for (int index = 0; index < 31; ++index) {
        numbers[index] = std::fma(numbers[index], 0.5, numbers[index + 1]);
    }
    return rounded(far::norm(numbers, 32));
}

Answer singles() {
    float sum = 0.0F;
    for (int index = 0; index < 16; ++index) {
        const float x = opaque(static_cast<float>(index));
        // MUTATE[BM_Singles]: 1.25F => 1.26F
        sum += std::sqrt(x * 1.25F);
        // MUTATE[BM_Singles]: std::floor => std::ceil
        sum += std::floor(x / 3.0F);
        // MUTATE[BM_Singles]: std::fabs => -std::fabs
        sum += std::fabs(x - 7.5F);
    }
    return rounded(sum);
}

void BM_Called(benchmark::State& state) {
    repeat(state, called);
}
void BM_Polynomials(benchmark::State& state) {
    repeat(state, polynomials);
}
void BM_Vectors(benchmark::State& state) {
    repeat(state, vectors);
}
void BM_Singles(benchmark::State& state) {
    repeat(state, singles);
}
BENCHMARK(BM_Called);
BENCHMARK(BM_Polynomials);
BENCHMARK(BM_Vectors);
BENCHMARK(BM_Singles);

}  // namespace

BENCHMARK_MAIN();
