# cppcoro: tasks, a pool that steals work and sockets; Lewis Baker's library as Andreas Buhr keeps it for compilers of
# today. No Debian package has it: found where its own CMake package file is, through CMAKE_PREFIX_PATH.
find_package(cppcoro CONFIG QUIET)
if(TARGET cppcoro::cppcoro)
  add_library(toll_contender_cppcoro INTERFACE)
  target_link_libraries(toll_contender_cppcoro INTERFACE cppcoro::cppcoro)
else()
  set(TOLL_CPPCORO_REASON "cppcoro's CMake package was not found; build https://github.com/andreasbuhr/cppcoro, \
then name the folder where it was installed in CMAKE_PREFIX_PATH")
endif()
