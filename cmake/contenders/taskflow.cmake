# Taskflow: headers alone, which Debian's testing suite has (libtaskflow-cpp-dev) and Debian 12 has not: found through
# CMAKE_PREFIX_PATH where they lie elsewhere.
find_path(TOLL_TASKFLOW_INCLUDE taskflow/taskflow.hpp)
find_package(Threads QUIET)
if(TOLL_TASKFLOW_INCLUDE)
  add_library(toll_contender_taskflow INTERFACE)
  target_include_directories(toll_contender_taskflow SYSTEM INTERFACE "${TOLL_TASKFLOW_INCLUDE}")
  target_link_libraries(toll_contender_taskflow INTERFACE Threads::Threads)
  toll_line_of(line "${TOLL_TASKFLOW_INCLUDE}/taskflow/taskflow.hpp" "define TF_VERSION +[0-9]+")
  if(line MATCHES "TF_VERSION +([0-9]+)")  # 400100 is 4.1.0
    math(EXPR major "${CMAKE_MATCH_1} / 100000")
    math(EXPR minor "${CMAKE_MATCH_1} / 100 % 1000")
    math(EXPR patch "${CMAKE_MATCH_1} % 100")
    set(TOLL_TASKFLOW_VERSION "${major}.${minor}.${patch}")
  endif()
else()
  set(TOLL_TASKFLOW_REASON "taskflow/taskflow.hpp was not found; take it from https://github.com/taskflow/taskflow, \
then name the folder that holds its taskflow folder as include in CMAKE_PREFIX_PATH, or: toll env add debian-testing")
endif()
