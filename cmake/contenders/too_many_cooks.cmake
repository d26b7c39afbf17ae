# TooManyCooks: coroutines on a pool that steals work; headers that no package of Debian brings: found through
# CMAKE_PREFIX_PATH where they lie elsewhere. Its use of hwloc stays off, so that the kernel places its threads.
find_path(TOLL_TOO_MANY_COOKS_INCLUDE tmc/ex_cpu.hpp)
find_package(Threads QUIET)
if(NOT TOLL_TOO_MANY_COOKS_INCLUDE)
  set(TOLL_TOO_MANY_COOKS_REASON "tmc/ex_cpu.hpp was not found; take it from https://github.com/tzcnt/TooManyCooks, \
then name the folder that holds its include folder in CMAKE_PREFIX_PATH")
elseif((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
    OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 17))
  set(TOLL_TOO_MANY_COOKS_REASON "TooManyCooks needs GCC 14 or Clang 17, here it is \
${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}; name a newer compiler: --env clang-19")
else()
  add_library(toll_contender_too_many_cooks INTERFACE)
  target_include_directories(toll_contender_too_many_cooks SYSTEM INTERFACE "${TOLL_TOO_MANY_COOKS_INCLUDE}")
  target_link_libraries(toll_contender_too_many_cooks INTERFACE Threads::Threads)
  # As its author's programs in runtime-benchmarks have it: one priority, and tasks that do not look after themselves.
  target_compile_definitions(toll_contender_too_many_cooks INTERFACE TMC_PRIORITY_COUNT=1 TMC_TRIVIAL_TASK)
  toll_version_in_header(TOLL_TOO_MANY_COOKS_VERSION "${TOLL_TOO_MANY_COOKS_INCLUDE}/tmc/version.hpp" TMC_VERSION)
endif()
