// Whether a time means what it says: chains of dependent instructions, whose cost the processor's
// manual gives in cycles. On x86-64 a multiplication costs 3 additions (64-bit IMUL r, r on every
// Intel core since Nehalem and every AMD core since Zen), and a chain twice as long takes twice the
// time. Frequency changes and interruptions move both sides of a ratio alike.
#include <array>
#include <cstdint>

#include "figures.hpp"
#include "toll/keep.hpp"

namespace {

// Unrolled, so that the loop's own counter hides behind the chain.
#define TOLL_TEN(text) text text text text text text text text text text

void additions(std::uint64_t blocks) {
    std::uint64_t x = 1;
    for (; blocks > 0; --blocks) {
        toll::keep_changed(blocks);
#if defined(__x86_64__)
        asm volatile(TOLL_TEN(TOLL_TEN("addq %0, %0\n\t")) : "+r"(x) : : "cc");
#elif defined(__aarch64__)
        asm volatile(TOLL_TEN(TOLL_TEN("add %0, %0, %0\n\t")) : "+r"(x));
#endif
    }
    toll::keep(x);
}

void multiplications(std::uint64_t blocks) {
    std::uint64_t x = 3;
    for (; blocks > 0; --blocks) {
        toll::keep_changed(blocks);
#if defined(__x86_64__)
        asm volatile(TOLL_TEN(TOLL_TEN("imulq %0, %0\n\t")) : "+r"(x) : : "cc");
#elif defined(__aarch64__)
        asm volatile(TOLL_TEN(TOLL_TEN("mul %0, %0, %0\n\t")) : "+r"(x));
#endif
    }
    toll::keep(x);
}

constexpr std::uint64_t blocks = 200;  // of 100 instructions: 20,000 additions, some 6 us

}  // namespace

int main() {
    using toll::bench::within_percent;
    const toll::Clock clock = toll::Clock::system();
    // Repetitions are short and many: the chance that one of them meets no interruption is high.
    const auto best = toll::bench::fastest(
        clock, 4000,
        {[] { additions(blocks); }, [] { additions(2 * blocks); }, [] { additions(4 * blocks); },
         [] { multiplications(blocks); }, [] { multiplications(2 * blocks); }});
    const double addition_ns = best[0] / (100.0 * blocks);
    const double ratio = best[3] / best[0];
    std::vector<toll::bench::Figure> figures{toll::bench::shown("one dependent addition", addition_ns, "ns"),
                                             toll::bench::shown("multiplication over addition", ratio, "x")};
#if defined(__x86_64__)
    figures.push_back(within_percent("multiplication is 3.00 additions", ratio, 3, 1));
#endif
    figures.push_back(within_percent("2 x the additions take 2 x the time", best[1] / best[0], 2, 1));
    figures.push_back(within_percent("4 x the additions take 4 x the time", best[2] / best[0], 4, 1));
    figures.push_back(within_percent("2 x the multiplications take 2 x the time", best[4] / best[3], 2, 1));
    return toll::bench::print("dependent_chains", figures);
}
