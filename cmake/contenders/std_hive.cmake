# std::hive of C++26, which plf::colony came to be. No release of a standard library has it yet: the row comes with
# the compiler that does.
include(CheckCXXSourceCompiles)
set(toll_flags_before "${CMAKE_REQUIRED_FLAGS}")
string(APPEND CMAKE_REQUIRED_FLAGS " -std=c++26")
check_cxx_source_compiles("
#include <hive>
int main() { std::hive<int> two(2); return static_cast<int>(two.size()) - 2; }
" TOLL_HAS_STD_HIVE)
set(CMAKE_REQUIRED_FLAGS "${toll_flags_before}")
toll_standard_library_version(TOLL_STD_HIVE_VERSION)
if(TOLL_HAS_STD_HIVE)
  add_library(toll_contender_std_hive INTERFACE)
  target_compile_options(toll_contender_std_hive INTERFACE -std=c++26)
else()
  set(TOLL_STD_HIVE_REASON "${TOLL_STD_HIVE_VERSION} has no std::hive; it is in C++26, and plf_colony is what it came from")
endif()
