# concurrencpp: results, executors and a runtime that owns them. No Debian package has it: found where its own CMake
# package file is, through CMAKE_PREFIX_PATH.
find_package(concurrencpp 0.1.7 CONFIG QUIET)
if(TARGET concurrencpp::concurrencpp)
  add_library(toll_contender_concurrencpp INTERFACE)
  target_link_libraries(toll_contender_concurrencpp INTERFACE concurrencpp::concurrencpp)
  set(TOLL_CONCURRENCPP_VERSION "${concurrencpp_VERSION}")
else()
  set(TOLL_CONCURRENCPP_REASON "concurrencpp's CMake package of 0.1.7 or later was not found; build \
https://github.com/David-Haim/concurrencpp, then name the folder where it was installed in CMAKE_PREFIX_PATH")
endif()
