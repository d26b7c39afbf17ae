# std::inplace_vector of C++26: in libstdc++ since GCC 16. An option and not a feature, because CMake learns of
# a compiler's newest standard later than the compiler.
include(CheckCXXSourceCompiles)
set(toll_flags_before "${CMAKE_REQUIRED_FLAGS}")
set(toll_standard_before "${CMAKE_CXX_STANDARD}")
set(toll_extensions_before "${CMAKE_CXX_EXTENSIONS}")
string(APPEND CMAKE_REQUIRED_FLAGS " -std=c++26")
# CMake's own word would come after ours, and the last one counts.
set(CMAKE_CXX_STANDARD "")
unset(CMAKE_CXX_EXTENSIONS)
check_cxx_source_compiles("
#include <inplace_vector>
int main() { std::inplace_vector<int, 4> four(2); return static_cast<int>(four.size()) - 2; }
" TOLL_HAS_STD_INPLACE_VECTOR)
set(CMAKE_REQUIRED_FLAGS "${toll_flags_before}")
set(CMAKE_CXX_STANDARD "${toll_standard_before}")
set(CMAKE_CXX_EXTENSIONS "${toll_extensions_before}")
toll_standard_library_version(TOLL_STD_INPLACE_VECTOR_VERSION)
if(TOLL_HAS_STD_INPLACE_VECTOR)
  add_library(toll_contender_std_inplace_vector INTERFACE)
  target_compile_options(toll_contender_std_inplace_vector INTERFACE -std=c++26)
else()
  set(TOLL_STD_INPLACE_VECTOR_REASON
    "${TOLL_STD_INPLACE_VECTOR_VERSION} has no std::inplace_vector; it came with libstdc++ 16")
endif()
