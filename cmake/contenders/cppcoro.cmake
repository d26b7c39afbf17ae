# cppcoro: tasks, a pool that steals work and sockets; Lewis Baker's library as Andreas Buhr keeps it for compilers of
# today. No Debian package has it: found where its own CMake package file is, through CMAKE_PREFIX_PATH. That file ends
# the whole configuration where a compiler has no coroutines, even if it is asked to be quiet.
toll_compiles_with(TOLL_CPPCORO_COROUTINES "${CMAKE_CXX20_STANDARD_COMPILE_OPTION}" "#include <coroutine>
int main() { return std::coroutine_handle<>{} ? 1 : 0; }")
if(TOLL_CPPCORO_COROUTINES)
  find_package(cppcoro CONFIG QUIET)
endif()
if(TARGET cppcoro::cppcoro)
  add_library(toll_contender_cppcoro INTERFACE)
  target_link_libraries(toll_contender_cppcoro INTERFACE cppcoro::cppcoro)
elseif(NOT TOLL_CPPCORO_COROUTINES)
  set(TOLL_CPPCORO_REASON "cppcoro needs std::coroutine_handle of C++20, which ${CMAKE_CXX_COMPILER_ID} \
${CMAKE_CXX_COMPILER_VERSION} does not have here")
else()
  set(TOLL_CPPCORO_REASON "cppcoro's CMake package was not found; build https://github.com/andreasbuhr/cppcoro, \
then name the folder where it was installed in CMAKE_PREFIX_PATH")
endif()
