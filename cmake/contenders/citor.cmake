# citor: a pool of threads whose caller works too; headers that no package of Debian brings: found through
# CMAKE_PREFIX_PATH where they lie elsewhere.
find_path(TOLL_CITOR_INCLUDE citor/thread_pool.h)
find_package(Threads QUIET)
if(TOLL_CITOR_INCLUDE)
  add_library(toll_contender_citor INTERFACE)
  target_include_directories(toll_contender_citor SYSTEM INTERFACE "${TOLL_CITOR_INCLUDE}")
  target_link_libraries(toll_contender_citor INTERFACE Threads::Threads)
  # As runtime-benchmarks has it: who waits for a child makes other tasks meanwhile, on the same stack.
  target_compile_definitions(toll_contender_citor INTERFACE CITOR_WORKER_STACK_KIB=65536)
  toll_line_of(line "${TOLL_CITOR_INCLUDE}/citor/version.h" "CITOR_VERSION_STRING")
  if(line MATCHES "\"([0-9.]+)\"")
    set(TOLL_CITOR_VERSION "${CMAKE_MATCH_1}")
  endif()
else()
  set(TOLL_CITOR_REASON "citor/thread_pool.h was not found; take it from https://github.com/Lallapallooza/citor, \
then name the folder that holds its include folder in CMAKE_PREFIX_PATH")
endif()
