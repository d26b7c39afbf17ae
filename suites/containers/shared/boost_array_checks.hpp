#pragma once

// Include before any header of Boost: where the standard library's checks are on, Boost's are too, although
// NDEBUG would turn them off. So an environment with checks checks all containers alike.

#include <cstdlib>
#include <version>

#if defined(_GLIBCXX_ASSERTIONS) || defined(_GLIBCXX_DEBUG) || \
    (defined(_LIBCPP_HARDENING_MODE) && _LIBCPP_HARDENING_MODE != _LIBCPP_HARDENING_MODE_NONE)
#define BOOST_ENABLE_ASSERT_HANDLER
namespace boost {
[[noreturn]] inline void assertion_failed(const char*, const char*, const char*, long) {
    std::abort();
}
[[noreturn]] inline void assertion_failed_msg(const char*, const char*, const char*, const char*, long) {
    std::abort();
}
}  // namespace boost
#endif
