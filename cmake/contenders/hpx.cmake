# HPX: lightweight threads, futures and a runtime. No Debian package has it: found where its own CMake package file is,
# through CMAKE_PREFIX_PATH. That file ends the whole configuration where hwloc or Asio is not there, even if it is asked
# to be quiet, or where a Boost is named that is not the one of the build; another compiler's HPX it makes a target of,
# and says that it was not found.
find_path(TOLL_HPX_INCLUDE hpx/future.hpp)
find_path(TOLL_HPX_HWLOC hwloc.h)
find_path(TOLL_HPX_ASIO asio.hpp HINTS "${TOLL_HPX_INCLUDE}")
set(TOLL_HPX_FROM "build https://github.com/STEllAR-GROUP/hpx, then name the folder where it was installed in \
CMAKE_PREFIX_PATH")
if(NOT TOLL_HPX_INCLUDE)
  set(TOLL_HPX_REASON "HPX's hpx/future.hpp was not found; ${TOLL_HPX_FROM}")
elseif(NOT TOLL_HPX_HWLOC OR NOT TOLL_HPX_ASIO)
  set(TOLL_HPX_REASON "HPX needs hwloc and Asio; apt install libhwloc-dev libasio-dev")
else()
  set(HPX_IGNORE_BOOST_COMPATIBILITY ON)
  find_package(HPX 1.11 CONFIG QUIET)
  if(HPX_FOUND AND TARGET HPX::hpx)
    add_library(toll_contender_hpx INTERFACE)
    target_link_libraries(toll_contender_hpx INTERFACE HPX::hpx)
    set(TOLL_HPX_VERSION "${HPX_VERSION}")
  else()
    set(TOLL_HPX_REASON "HPX in ${TOLL_HPX_INCLUDE} is older than 1.11, or another compiler made it than \
${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}; ${TOLL_HPX_FROM}")
  endif()
endif()
