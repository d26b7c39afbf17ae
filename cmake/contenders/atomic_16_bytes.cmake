# Atomics of 16 bytes: the compiler's own instructions where it has them, else libatomic.
include(CheckCXXSourceCompiles)
set(toll_atomic_probe [[
#include <atomic>
struct Wide { alignas(16) unsigned long long low, high; };
std::atomic<Wide> wide;
int main() { return static_cast<int>(wide.load().low); }
]])
if(DEFINED CACHE{TOLL_ATOMIC_16_BYTES_IN_LIBATOMIC} AND NOT TOLL_ATOMIC_16_BYTES_IN_LIBATOMIC)
  unset(TOLL_ATOMIC_16_BYTES_IN_LIBATOMIC CACHE)  # it may have been installed since
endif()
check_cxx_source_compiles("${toll_atomic_probe}" TOLL_ATOMIC_16_BYTES_BUILT_IN)
if(NOT TOLL_ATOMIC_16_BYTES_BUILT_IN)
  set(CMAKE_REQUIRED_LIBRARIES atomic)
  check_cxx_source_compiles("${toll_atomic_probe}" TOLL_ATOMIC_16_BYTES_IN_LIBATOMIC)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()
if(TOLL_ATOMIC_16_BYTES_BUILT_IN OR TOLL_ATOMIC_16_BYTES_IN_LIBATOMIC)
  add_library(toll_contender_atomic_16_bytes INTERFACE)
  if(NOT TOLL_ATOMIC_16_BYTES_BUILT_IN)
    target_link_libraries(toll_contender_atomic_16_bytes INTERFACE atomic)
  endif()
  # What a row shows is the standard library; libatomic belongs to the compiler.
  toll_standard_library_version(TOLL_ATOMIC_16_BYTES_VERSION)
else()
  set(TOLL_ATOMIC_16_BYTES_REASON "neither ${CMAKE_CXX_COMPILER_ID} nor libatomic offers atomics of 16 bytes")
  set(TOLL_ATOMIC_16_BYTES_MISSING libatomic)
endif()
