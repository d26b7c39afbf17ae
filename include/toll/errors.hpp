// What a contender or a workload throws, and the kind of protocol error that each becomes.
#pragma once

#include <stdexcept>

namespace toll {

/// This machine, permission or parameter cannot do it: protocol error `unsupported`, one sentence.
struct Unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// An unknown contender, parameter or request: protocol error `usage`, one sentence.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The program's own check failed: protocol error `wrong_answer`, one sentence.
struct WrongAnswer : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace toll
