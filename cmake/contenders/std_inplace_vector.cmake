# std::inplace_vector of C++26: in libstdc++ since GCC 16. An option and not a feature, because CMake learns of
# a compiler's newest standard later than the compiler.
toll_compiles_with(TOLL_HAS_STD_INPLACE_VECTOR "-std=c++26" "
#include <inplace_vector>
int main() { std::inplace_vector<int, 4> four(2); return static_cast<int>(four.size()) - 2; }
")
toll_standard_library_version(TOLL_STD_INPLACE_VECTOR_VERSION)
if(TOLL_HAS_STD_INPLACE_VECTOR)
  add_library(toll_contender_std_inplace_vector INTERFACE)
  target_compile_options(toll_contender_std_inplace_vector INTERFACE -std=c++26)
else()
  set(TOLL_STD_INPLACE_VECTOR_REASON
    "${TOLL_STD_INPLACE_VECTOR_VERSION} has no std::inplace_vector; it came with libstdc++ 16")
endif()
