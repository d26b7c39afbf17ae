"""Toll programs in one source file each, of which a test says what an iteration does."""

from __future__ import annotations

from pathlib import Path

from compiled import compiled

ROOT = Path(__file__).resolve().parents[3]
# Speaks as much of protocol 1 as counting needs; its counting pass is the library's.
PROGRAM = r"""
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "allocations_preload.hpp"
FUNCTIONS
int main(int count, char** words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (std::strcmp(words[count - 1], "describe") == 0) {
    std::puts(R"({"type":"description","protocol":1,"language":"C++","compiler":"","contenders":[)"
              R"({"workload":"test/own","contender":"steps","kind":"batch"}]})");
    return 0;
  }
  std::puts(R"({"type":"ready","protocol":1,"setup_ns":1,"process_ns":1,"footing":{"malloc":"glibc"},)"
            R"("clock":{"source":"monotonic","resolution_ns":10.0}})");
  char line[1000];
  while (std::fgets(line, sizeof line, stdin) && !std::strstr(line, "stop")) {
    const long iterations = std::atol(std::strchr(std::strstr(line, "iterations"), ':') + 1);
    TollAllocations seen{};
    before();
    toll_allocations_start();
    run(iterations);
    toll_allocations_stop(&seen);
    std::printf(R"({"type":"allocations","iterations":%ld,"units":%ld,"calls":%ld,"bytes":%ld,)"
                R"("peak_bytes":%ld,"checksum":"7"})" "\n", iterations, iterations, long(seen.calls),
                long(seen.bytes), long(seen.peak_bytes));
  }
  std::puts(R"({"type":"stopped"})");
}
"""
STEPS = r"""
[[gnu::noinline]] void work() { asm volatile(".rept STEPS\n incl %%eax\n .endr" ::: "eax"); }
void before() {}
void run(long iterations) {
  void* once = std::malloc(5000);
  for (long i = 0; i < iterations; i++) {
    work();
    for (int j = 0; j < 2; j++) { void* volatile block = std::malloc(10); std::free(block); }
  }
  std::free(once);
}
"""


def toll_program(folder: Path, name: str, functions: str, *flags: str) -> Path:
    """A program of one contender; `functions` define before(), not counted, and run(long iterations).

    Raises CalledProcessError where nothing can be compiled.
    """
    return compiled(folder, name, PROGRAM.replace("FUNCTIONS", functions), *flags, f"-I{ROOT / 'src'}")


def counted_program(folder: Path, name: str, steps: int) -> Path:
    """Its benchmark takes `steps` instructions and two allocations an iteration, and one more in all.

    Raises CalledProcessError where nothing can be compiled.
    """
    return toll_program(folder, name, STEPS.replace("STEPS", str(steps)), "-g")
