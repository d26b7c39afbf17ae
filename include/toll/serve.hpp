// The entry point of a program: protocol 1 under toll, a readable table by hand.
#pragma once

namespace toll {

/// Does what the words ask for: `describe`, `serve WORKLOAD CONTENDER name=value ...`, or a table by
/// hand. Returns the exit code. Linking toll::main gives a program whose main() calls this.
[[nodiscard]] int run_program(int argc, const char* const* argv);

}  // namespace toll
