#pragma once

#include <stdexec/execution.hpp>

namespace toll {

/// What a task of C++26 is told: to go on where it was resumed. By default it would come back to the
/// scheduler that it began on after each wait, through a type-erased copy of that.
struct GoingOnWhereResumed {
    using scheduler_type = stdexec::inline_scheduler;
    using start_scheduler_type = stdexec::inline_scheduler;  // the same, since the standard's last change
};

/// C++26's std::execution::task, as stdexec has it.
template <class Result>
using StdexecTask = stdexec::task<Result, GoingOnWhereResumed>;

}  // namespace toll
