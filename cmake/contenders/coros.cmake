# coros: tasks on a pool that steals work; headers that no package of Debian brings: found through CMAKE_PREFIX_PATH
# where they lie elsewhere.
find_path(TOLL_COROS_INCLUDE NAMES chain_tasks.h)
find_package(Threads QUIET)
toll_compiles_with(TOLL_COROS_EXPECTED "${CMAKE_CXX23_STANDARD_COMPILE_OPTION}" "#include <expected>
int main() { return std::expected<int, int>{0}.value(); }")
if(NOT TOLL_COROS_INCLUDE)
  set(TOLL_COROS_REASON "coros' chain_tasks.h was not found; take it from https://github.com/mtmucha/coros, then name the \
folder that holds its include folder in CMAKE_PREFIX_PATH")
elseif(NOT TOLL_COROS_EXPECTED)
  set(TOLL_COROS_REASON "coros needs std::expected of C++23, which ${CMAKE_CXX_COMPILER_ID} \
${CMAKE_CXX_COMPILER_VERSION} does not have here; GCC 12 has it")
else()
  add_library(toll_contender_coros INTERFACE)
  target_include_directories(toll_contender_coros SYSTEM INTERFACE "${TOLL_COROS_INCLUDE}")
  target_link_libraries(toll_contender_coros INTERFACE Threads::Threads)
  target_compile_features(toll_contender_coros INTERFACE cxx_std_23)
endif()
