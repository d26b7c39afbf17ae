// What an empty batch iteration costs beyond the loop itself: toll::repeat inside time_batch against
// the tightest counted loop that the processor runs, written in assembly.
#include <cstdint>

#include "figures.hpp"
#include "toll/batch.hpp"

namespace {

constexpr std::uint64_t iterations = 2'000'000;

void bare_loop() {
    std::uint64_t left = iterations;
#if defined(__x86_64__)
    asm volatile(
        ".p2align 5\n"
        "1: dec %0\n\t"
        "jnz 1b"
        : "+r"(left)
        :
        : "cc");
#else
    for (; left > 0; --left) { toll::keep_changed(left); }
#endif
}

}  // namespace

int main() {
    const toll::Clock clock = toll::Clock::system();
    const toll::Counters none;
    double batch_ns = std::numeric_limits<double>::infinity();
    const auto best = toll::bench::fastest(
        clock, 200, {bare_loop, [&] {
                         const toll::Batch batch = toll::time_batch(clock, none, [] {
                             return toll::repeat(iterations, [] { return toll::Checksum{1}; });
                         });
                         batch_ns = std::min(batch_ns, batch.wall_ns);
                     }});
    const auto per_iteration = [](double ns) { return ns / static_cast<double>(iterations); };
    return toll::bench::print(
        "empty_batch", {toll::bench::shown("bare loop, one iteration", per_iteration(best[0]), "ns"),
                        toll::bench::shown("empty batch, one iteration", per_iteration(batch_ns), "ns"),
                        toll::bench::at_most("empty batch iteration beyond the loop itself",
                                             per_iteration(batch_ns) - per_iteration(best[0]), "ns", 0.3)});
}
