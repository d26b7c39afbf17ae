# std::flat_map of C++23: in libstdc++ since GCC 15, in libc++ since Clang 20.
toll_compiles_with(TOLL_HAS_STD_FLAT_MAP "${CMAKE_CXX23_STANDARD_COMPILE_OPTION}" "
#include <flat_map>
int main() { std::flat_map<int, int> map; return static_cast<int>(map.size()); }
")
toll_standard_library_version(TOLL_STD_FLAT_MAP_VERSION)
if(TOLL_HAS_STD_FLAT_MAP)
  add_library(toll_contender_std_flat_map INTERFACE)
  target_compile_features(toll_contender_std_flat_map INTERFACE cxx_std_23)
else()
  set(TOLL_STD_FLAT_MAP_REASON "${TOLL_STD_FLAT_MAP_VERSION} has no std::flat_map; it came with libstdc++ 15 \
and libc++ 20")
endif()
