include("${CMAKE_CURRENT_SOURCE_DIR}/suites/containers/shared/inspect_loops.cmake")
toll_align_loops(${target})
