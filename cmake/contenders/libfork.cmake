# libfork: fork and join by coroutines whose parents are stolen; headers that need nothing else and that no package of
# Debian brings: found through CMAKE_PREFIX_PATH where they lie elsewhere. Its use of hwloc stays off.
find_path(TOLL_LIBFORK_INCLUDE libfork/core.hpp)
find_package(Threads QUIET)
if(TOLL_LIBFORK_INCLUDE)
  add_library(toll_contender_libfork INTERFACE)
  target_include_directories(toll_contender_libfork SYSTEM INTERFACE "${TOLL_LIBFORK_INCLUDE}")
  target_link_libraries(toll_contender_libfork INTERFACE Threads::Threads)
  toll_version_in_header(TOLL_LIBFORK_VERSION "${TOLL_LIBFORK_INCLUDE}/libfork/core/macro.hpp" LF_VERSION)
else()
  set(TOLL_LIBFORK_REASON "libfork/core.hpp was not found; take it from https://github.com/ConorWilliams/libfork, \
then name the folder that holds its include folder in CMAKE_PREFIX_PATH")
endif()
