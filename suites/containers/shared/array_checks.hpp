#pragma once

// Which bounds checks a build has in force, as the libraries' own macros tell.

#include "measured_loops.hpp"

#include <version>

namespace toll::arrays {

/// Whose bounds checks a container has.
enum class Checks { none, standard_array, standard_container, boost };

/// What checks each access: "none", "at()", or the switch that is on. `standard_array` is for those of the
/// standard library whose iterators are plain pointers even in its debug mode (std::array, std::span).
[[nodiscard]] constexpr const char* bounds_checks(Checks checks, Access access) noexcept {
    if (checks == Checks::none) { return "none"; }
    if (access == Access::at) { return "at()"; }
    [[maybe_unused]] const bool indexed = access == Access::index;
    if (checks == Checks::boost) {
#if defined(NDEBUG) && !defined(BOOST_ENABLE_ASSERT_HANDLER)
        return "none";
#else
        return indexed ? "BOOST_ASSERT" : "none";
#endif
    }
#if defined(_LIBCPP_VERSION)
    if (!indexed) { return "none"; }  // checked iterators need another ABI of libc++
#if defined(_LIBCPP_HARDENING_MODE)
    if (_LIBCPP_HARDENING_MODE == _LIBCPP_HARDENING_MODE_FAST) { return "libc++ hardening, fast"; }
    if (_LIBCPP_HARDENING_MODE == _LIBCPP_HARDENING_MODE_EXTENSIVE) { return "libc++ hardening, extensive"; }
    if (_LIBCPP_HARDENING_MODE == _LIBCPP_HARDENING_MODE_DEBUG) { return "libc++ hardening, debug"; }
#elif defined(_LIBCPP_ENABLE_ASSERTIONS) && _LIBCPP_ENABLE_ASSERTIONS
    return "_LIBCPP_ENABLE_ASSERTIONS";
#endif
    return "none";
#else
#if defined(_GLIBCXX_DEBUG)
    if (indexed || checks == Checks::standard_container) { return "_GLIBCXX_DEBUG"; }
#elif defined(_GLIBCXX_ASSERTIONS)
    if (indexed) { return "_GLIBCXX_ASSERTIONS"; }
#endif
    return "none";
#endif
}

}  // namespace toll::arrays
