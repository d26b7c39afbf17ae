# libcoro: tasks, a pool and a queue. No Debian package has it, and it installs no CMake package file: found through
# CMAKE_PREFIX_PATH where it lies elsewhere. Up to 0.15.0 a pool was made in another way; commits behind that one still
# call themselves 0.15.0, in the pkg-config file, where alone its version stands.
find_path(TOLL_LIBCORO_INCLUDE coro/export.hpp)  # made by the build: sources alone have none
if(TOLL_LIBCORO_INCLUDE)  # no other place's library
  find_library(TOLL_LIBCORO_LIBRARY NAMES coro HINTS "${TOLL_LIBCORO_INCLUDE}/.."
    PATH_SUFFIXES lib lib64 "lib/${CMAKE_LIBRARY_ARCHITECTURE}" NO_DEFAULT_PATH)
endif()
find_package(Threads QUIET)
set(TOLL_LIBCORO_FROM "build https://github.com/jbaldwin/libcoro, then name the folder where it was installed in \
CMAKE_PREFIX_PATH")
set(made "")
if(TOLL_LIBCORO_INCLUDE)
  toll_line_of(made "${TOLL_LIBCORO_INCLUDE}/coro/thread_pool.hpp" "make_unique")
endif()
if(NOT TOLL_LIBCORO_INCLUDE)
  set(TOLL_LIBCORO_REASON "libcoro's coro/export.hpp was not found; ${TOLL_LIBCORO_FROM}")
elseif(NOT TOLL_LIBCORO_LIBRARY)
  set(TOLL_LIBCORO_REASON "libcoro's headers are in ${TOLL_LIBCORO_INCLUDE}, but no library; ${TOLL_LIBCORO_FROM}")
elseif(NOT made)
  set(TOLL_LIBCORO_REASON "libcoro in ${TOLL_LIBCORO_INCLUDE} is older than 0.16; ${TOLL_LIBCORO_FROM}")
else()
  add_library(toll_contender_libcoro INTERFACE)
  target_include_directories(toll_contender_libcoro SYSTEM INTERFACE "${TOLL_LIBCORO_INCLUDE}")
  target_link_libraries(toll_contender_libcoro INTERFACE "${TOLL_LIBCORO_LIBRARY}" Threads::Threads)
  cmake_path(GET TOLL_LIBCORO_LIBRARY PARENT_PATH folder)
  if(EXISTS "${folder}/pkgconfig/libcoro.pc")
    toll_line_of(line "${folder}/pkgconfig/libcoro.pc" "^Version:")
    string(REGEX REPLACE "^Version: *" "" TOLL_LIBCORO_VERSION "${line}")
    if(TOLL_LIBCORO_VERSION STREQUAL "0.15.0")
      set(TOLL_LIBCORO_VERSION "after 0.15.0")
    endif()
  endif()
endif()
