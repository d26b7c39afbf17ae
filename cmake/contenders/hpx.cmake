# HPX: lightweight threads, futures and a runtime. No Debian package has it: found where its own CMake package file is,
# through CMAKE_PREFIX_PATH.
find_package(HPX 1.11 CONFIG QUIET)
if(TARGET HPX::hpx)
  add_library(toll_contender_hpx INTERFACE)
  target_link_libraries(toll_contender_hpx INTERFACE HPX::hpx)
  set(TOLL_HPX_VERSION "${HPX_VERSION}")
else()
  set(TOLL_HPX_REASON "HPX's CMake package of 1.11 or later was not found; build https://github.com/STEllAR-GROUP/hpx, \
then name the folder where it was installed in CMAKE_PREFIX_PATH")
endif()
