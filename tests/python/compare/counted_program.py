"""A toll program in one source file, whose benchmark takes a given number of instructions."""

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
[[gnu::noinline]] void work() { asm volatile(".rept STEPS\n incl %%eax\n .endr" ::: "eax"); }
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
    toll_allocations_start();
    void* once = std::malloc(5000);
    for (long i = 0; i < iterations; i++) {
      work();
      for (int j = 0; j < 2; j++) { void* volatile block = std::malloc(10); std::free(block); }
    }
    std::free(once);
    toll_allocations_stop(&seen);
    std::printf(R"({"type":"allocations","iterations":%ld,"units":%ld,"calls":%ld,"bytes":%ld,)"
                R"("peak_bytes":%ld,"checksum":"7"})" "\n", iterations, iterations, long(seen.calls),
                long(seen.bytes), long(seen.peak_bytes));
  }
  std::puts(R"({"type":"stopped"})");
}
"""


def counted_program(folder: Path, name: str, steps: int) -> Path:
    """Raises CalledProcessError where nothing can be compiled."""
    return compiled(folder, name, PROGRAM.replace("STEPS", str(steps)), "-g", f"-I{ROOT / 'src'}")
