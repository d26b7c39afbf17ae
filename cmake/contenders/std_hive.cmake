# std::hive of C++26, which plf::colony came to be. No release of a standard library has it yet: the row comes with
# the compiler that does.
toll_compiles_with(TOLL_HAS_STD_HIVE "-std=c++26" "
#include <hive>
int main() { std::hive<int> two(2); return static_cast<int>(two.size()) - 2; }
")
toll_standard_library_version(TOLL_STD_HIVE_VERSION)
if(TOLL_HAS_STD_HIVE)
  add_library(toll_contender_std_hive INTERFACE)
  target_compile_options(toll_contender_std_hive INTERFACE -std=c++26)
else()
  set(TOLL_STD_HIVE_REASON "${TOLL_STD_HIVE_VERSION} has no std::hive; it is in C++26, and plf_colony is what it came from")
endif()
