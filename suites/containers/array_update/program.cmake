include("${CMAKE_CURRENT_SOURCE_DIR}/suites/containers/arrays/program.cmake")
