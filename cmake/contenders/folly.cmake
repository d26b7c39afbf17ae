# Folly: futures, coroutines and executors. No Debian package has it: found where its own CMake package file is, through
# CMAKE_PREFIX_PATH for one that lies elsewhere.
find_package(folly CONFIG QUIET)
if(TARGET Folly::folly)
  add_library(toll_contender_folly INTERFACE)
  target_link_libraries(toll_contender_folly INTERFACE Folly::folly)
  set(TOLL_FOLLY_VERSION "${folly_VERSION}")
else()
  set(TOLL_FOLLY_REASON "Folly's CMake package was not found; build Folly, then name its folder in CMAKE_PREFIX_PATH")
endif()
