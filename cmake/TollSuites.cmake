# Every contender under suites/, read from the suite.toml files by a script that needs Python's
# standard library alone. Configures again when a suite.toml changes or a file comes or goes.

find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)

file(GLOB toll_suite_files CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/suites/*/*/suite.toml"
  "${PROJECT_SOURCE_DIR}/suites/*/*/*.cpp"
  "${PROJECT_SOURCE_DIR}/cmake/contenders/*.cmake")
list(FILTER toll_suite_files INCLUDE REGEX "suite\\.toml$")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${toll_suite_files} "${PROJECT_SOURCE_DIR}/cmake/toll_suites.py"
  "${PROJECT_SOURCE_DIR}/python/tollbench/catalog/suite_rules.py")

set(toll_suites_calls "${PROJECT_BINARY_DIR}/toll_suites.cmake")
execute_process(
  COMMAND "${Python3_EXECUTABLE}" -I "${PROJECT_SOURCE_DIR}/cmake/toll_suites.py"
    "${PROJECT_SOURCE_DIR}/suites" "${toll_suites_calls}" ${TOLL_SUITES}
  RESULT_VARIABLE toll_suites_failed ERROR_VARIABLE toll_suites_message)
if(toll_suites_failed)
  message(FATAL_ERROR "${toll_suites_message}")
endif()
include("${toll_suites_calls}")

toll_standard_library_version(toll_std)
toll_contender_row(WORKLOAD "toll/canary" NAME "canary" LANGUAGE "C++" TARGET "toll_canary"
  EXECUTABLE "$<TARGET_FILE:toll_canary>" AVAILABLE true REASON "" VERSION "${toll_std}")
toll_write_contenders("${PROJECT_BINARY_DIR}/contenders.json")
