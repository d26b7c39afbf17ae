#pragma once

#include <unistd.h>
#include <algorithm>
#include <climits>
#include <cstddef>

namespace toll::skynet {

/// The smallest stack that a thread may ask for. The published programs of 2017 asked for 8 KiB,
/// which pthread_attr_setstacksize refuses (they ignored that and got the default of 8 MiB). sysconf knows
/// more than the constant: glibc 2.34 and later add what the kernel saves on a signal, which AVX-512 and AMX
/// enlarge.
inline std::size_t smallest_stack_bytes() {
    const long now = sysconf(_SC_THREAD_STACK_MIN);
    return static_cast<std::size_t>(std::max<long>(PTHREAD_STACK_MIN, now));
}

}  // namespace toll::skynet
