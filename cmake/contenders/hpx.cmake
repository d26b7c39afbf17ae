# HPX: lightweight threads, futures and a runtime. No Debian package has it: found where its own CMake package file is,
# through CMAKE_PREFIX_PATH. Of an HPX that another compiler made that file makes a target, and says that it was not
# found.
find_path(TOLL_HPX_INCLUDE hpx/future.hpp)
set(TOLL_HPX_FROM "build https://github.com/STEllAR-GROUP/hpx, then name the folder where it was installed in \
CMAKE_PREFIX_PATH")
set(whole FALSE)
if(TOLL_HPX_INCLUDE OR HPX_DIR)
  toll_package_is_whole(whole why HPX -DHPX_IGNORE_BOOST_COMPATIBILITY=ON)
endif()
if(whole)
  set(HPX_IGNORE_BOOST_COMPATIBILITY ON)
  find_package(HPX 1.11 CONFIG QUIET)
endif()
if(HPX_FOUND AND TARGET HPX::hpx)
  add_library(toll_contender_hpx INTERFACE)
  target_link_libraries(toll_contender_hpx INTERFACE HPX::hpx)
  set(TOLL_HPX_VERSION "${HPX_VERSION}")
elseif(NOT TOLL_HPX_INCLUDE AND NOT HPX_DIR)
  set(TOLL_HPX_REASON "HPX's hpx/future.hpp was not found; ${TOLL_HPX_FROM}")
elseif(NOT whole)
  set(TOLL_HPX_REASON "HPX lacks what it was built with: ${why}")
else()
  set(TOLL_HPX_REASON "HPX in ${TOLL_HPX_INCLUDE} is older than 1.11, or another compiler made it than \
${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}; ${TOLL_HPX_FROM}")
endif()
