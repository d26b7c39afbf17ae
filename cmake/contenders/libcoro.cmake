# libcoro: tasks, a pool and a queue. No Debian package has it, and it installs no CMake package file: found through
# CMAKE_PREFIX_PATH where it lies elsewhere. Its version stands in its pkg-config file alone.
find_path(TOLL_LIBCORO_INCLUDE coro/thread_pool.hpp)
find_library(TOLL_LIBCORO_LIBRARY NAMES coro)
find_package(Threads QUIET)
if(TOLL_LIBCORO_INCLUDE AND TOLL_LIBCORO_LIBRARY)
  add_library(toll_contender_libcoro INTERFACE)
  target_include_directories(toll_contender_libcoro SYSTEM INTERFACE "${TOLL_LIBCORO_INCLUDE}")
  target_link_libraries(toll_contender_libcoro INTERFACE "${TOLL_LIBCORO_LIBRARY}" Threads::Threads)
  cmake_path(GET TOLL_LIBCORO_LIBRARY PARENT_PATH folder)
  if(EXISTS "${folder}/pkgconfig/libcoro.pc")
    file(STRINGS "${folder}/pkgconfig/libcoro.pc" line REGEX "^Version:" LIMIT_COUNT 1)
    string(REGEX REPLACE "^Version: *" "" TOLL_LIBCORO_VERSION "${line}")
  endif()
else()
  set(TOLL_LIBCORO_REASON "libcoro was not found; build https://github.com/jbaldwin/libcoro, then name the folder \
where it was installed in CMAKE_PREFIX_PATH")
endif()
