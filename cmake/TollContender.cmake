# toll_contender(WORKLOAD topic/workload NAME name SOURCE file LIBRARY name LANGUAGE C++ [NEEDS name ...])
#
# One executable a source, programs/<topic>/<workload>/<source> in the build folder: a failed build
# or a crash costs no other source's rows. Contenders that name the same source share its executable,
# library and needs. A file program.cmake in the workload's folder is included for each of its executables,
# with the target's name in `target`: how else it is compiled, and what is to be done with it after linking, which is
# done for each of its layouts too.
# Each NEEDS name is a file cmake/contenders/<name>.cmake that
# looks for one third-party library and then sets, in the scope that includes it,
#   target toll_contender_<name>     what a contender links (an interface or imported target), or
#   TOLL_<NAME>_REASON               why there is none, in one sentence,
#   TOLL_<NAME>_MISSING              what packages.toml calls that which brings it; the command is toll's to know,
#   TOLL_<NAME>_VERSION              the version found.
# A contender that lacks something is announced, skipped, and a row of contenders.json.
#
# toll_write_contenders(FILE) writes that file: an array of
#   {workload, contender, language, target, executable, available, reason, missing, library_version}.

define_property(GLOBAL PROPERTY TOLL_CONTENDER_ROWS
  BRIEF_DOCS "JSON objects, one a contender" FULL_DOCS "Filled by toll_contender()")
define_property(GLOBAL PROPERTY TOLL_BUILT_CONTENDERS
  BRIEF_DOCS "Targets that a build without names makes" FULL_DOCS "Filled by toll_contender()")

# Headlines are configured for clang-tidy, which needs commands but no executables: of these only one a
# workload is built.
if(TOLL_SUITES STREQUAL "headline")
  set(toll_contenders_in_all "")
else()
  set(toll_contenders_in_all ALL)
endif()
add_custom_target(contenders ${toll_contenders_in_all} COMMENT "All contenders that can be built here")

# The standard library's name and version, for contenders that need nothing else.
function(toll_standard_library_version result)
  if(NOT DEFINED CACHE{TOLL_STANDARD_LIBRARY_VERSION})
    set(probe "${CMAKE_BINARY_DIR}/CMakeFiles/toll_standard_library.cpp")
    file(WRITE "${probe}" [[
#include <version>
#if defined(_LIBCPP_VERSION)
toll libc++ _LIBCPP_VERSION
#elif defined(_GLIBCXX_RELEASE)
toll libstdc++ _GLIBCXX_RELEASE
#endif
]])
    separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" ${flags} -std=c++20 -E -P "${probe}"
      OUTPUT_VARIABLE text ERROR_QUIET)
    string(REGEX MATCH "toll (libstdc\\+\\+|libc\\+\\+) ([0-9]+)" found "${text}")
    set(library "${CMAKE_MATCH_1}")
    set(version "${CMAKE_MATCH_2}")
    if(library STREQUAL "libc++")  # 15007 in Clang 15, 210108 in Clang 21
      string(REGEX REPLACE "^([0-9][0-9]).*" "\\1" version "${version}")
    endif()
    set(TOLL_STANDARD_LIBRARY_VERSION "${library} ${version}"
      CACHE INTERNAL "Name and version of the C++ standard library")
  endif()
  set(${result} "${TOLL_STANDARD_LIBRARY_VERSION}" PARENT_SCOPE)
endfunction()

# Whether a program of a newer standard than ours compiles and links here, in the cache as `result`; `option` is
# the compiler's word for the standard. CMake's own word for ours would come behind it, and the last one counts: so
# no compiler had what only a newer standard has.
function(toll_compiles_with result option source)
  include(CheckCXXSourceCompiles)
  unset(CMAKE_CXX_STANDARD)
  unset(CMAKE_CXX_EXTENSIONS)
  string(APPEND CMAKE_REQUIRED_FLAGS " ${option}")
  check_cxx_source_compiles("${source}" ${result})
endfunction()

# Sets `result` to whether the CMake package file of `package` comes to its end here, and `why` to the first sentence of
# what it says where it does not. Some files end the whole configuration where a library of their own is missing or of
# another version, even if they are asked to be quiet: Folly's where a component of Boost is gone. So it is asked by a
# CMake of its own, which takes a second or two; each time, as what it wants may be gone since. What
# follows are options of its own (-DNAME=ON).
function(toll_package_is_whole result why package)
  set(folder "${CMAKE_BINARY_DIR}/packages/${package}")
  file(WRITE "${folder}/CMakeLists.txt" "cmake_minimum_required(VERSION 3.20)\nproject(whole CXX)\n"
    "set(CMAKE_CXX_STANDARD ${CMAKE_CXX_STANDARD})\n"
    "find_package(${package} CONFIG QUIET)\n")
  string(REPLACE ";" "\\;" prefixes "${CMAKE_PREFIX_PATH}")
  set(place "")
  if(${package}_DIR)
    set(place "-D${package}_DIR=${${package}_DIR}")
  endif()
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${folder}" -B "${folder}/build" -G "${CMAKE_GENERATOR}"
      "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}" "-DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}"
      "-DCMAKE_PREFIX_PATH=${prefixes}" ${place} ${ARGN}
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE told)
  set(whole TRUE)
  if(failed)
    set(whole FALSE)
    string(REGEX MATCH "CMake Error[^\n]*\n+ *([^\n]*)\n *([^\n]*)" sentence "${told}")
    string(STRIP "${CMAKE_MATCH_1} ${CMAKE_MATCH_2}" sentence)
    string(REGEX REPLACE " +with any of the$" "" sentence "${sentence}")  # before a list of file names
    set(${why} "${sentence}" PARENT_SCOPE)
  endif()
  set(${result} "${whole}" PARENT_SCOPE)
endfunction()

# Looks for one library, once. Sets <prefix>_REASON (empty: found), <prefix>_MISSING and <prefix>_VERSION.
function(toll_find_need name)
  get_property(known GLOBAL PROPERTY TOLL_NEED_${name}_KNOWN)
  if(NOT known)
    string(TOUPPER "${name}" NAME)
    set(file "${PROJECT_SOURCE_DIR}/cmake/contenders/${name}.cmake")
    set(reason "")
    if(EXISTS "${file}")
      include("${file}")
      if(NOT TARGET toll_contender_${name})
        set(reason "${TOLL_${NAME}_REASON}")
        if(reason STREQUAL "")
          set(reason "${name} was not found")
        endif()
        message(STATUS "contenders that need ${name} are skipped: ${reason}")
      endif()
    else()
      set(reason "suite.toml needs ${name}, but cmake/contenders/${name}.cmake does not exist")
      message(WARNING "${reason}")
    endif()
    set_property(GLOBAL PROPERTY TOLL_NEED_${name}_KNOWN TRUE)
    set_property(GLOBAL PROPERTY TOLL_NEED_${name}_REASON "${reason}")
    set_property(GLOBAL PROPERTY TOLL_NEED_${name}_MISSING "${TOLL_${NAME}_MISSING}")
    set_property(GLOBAL PROPERTY TOLL_NEED_${name}_VERSION "${TOLL_${NAME}_VERSION}")
  endif()
endfunction()

# Sets `result` to the first line of a file that matches, or to nothing. Where the file changes, CMake is asked again:
# a library of headers alone was another version than its rows named.
function(toll_line_of result file pattern)
  file(STRINGS "${file}" line REGEX "${pattern}" LIMIT_COUNT 1)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  set(${result} "${line}" PARENT_SCOPE)
endfunction()

# Sets `result` to the version that a header defines as <prefix>_MAJOR, <prefix>_MINOR and <prefix>_PATCH.
function(toll_version_in_header result header prefix)
  set(parts "")
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    toll_line_of(line "${header}" "define +${prefix}_${part} +[0-9]+")
    if(line MATCHES "${part} +([0-9]+)")
      list(APPEND parts "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  list(JOIN parts "." version)
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# JSON text of a string: what file names and reasons can hold.
function(toll_json_text result value)
  string(REPLACE "\\" "\\\\" value "${value}")
  string(REPLACE "\"" "\\\"" value "${value}")
  string(REPLACE "\n" "\\n" value "${value}")
  string(REPLACE "\t" "\\t" value "${value}")
  set(${result} "\"${value}\"" PARENT_SCOPE)
endfunction()

# Adds one row to contenders.json.
function(toll_contender_row)
  cmake_parse_arguments(PARSE_ARGV 0 row ""
    "WORKLOAD;NAME;LANGUAGE;TARGET;EXECUTABLE;AVAILABLE;REASON;MISSING;VERSION" "")
  foreach(field IN ITEMS WORKLOAD NAME LANGUAGE TARGET EXECUTABLE REASON MISSING VERSION)
    toll_json_text(${field} "${row_${field}}")
  endforeach()
  set_property(GLOBAL APPEND_STRING PROPERTY TOLL_CONTENDER_ROWS
    ",\n  {\"workload\": ${WORKLOAD}, \"contender\": ${NAME}, \"language\": ${LANGUAGE}, \
\"target\": ${TARGET}, \"executable\": ${EXECUTABLE}, \"available\": ${row_AVAILABLE}, \
\"reason\": ${REASON}, \"missing\": ${MISSING}, \"library_version\": ${VERSION}}")
endfunction()

function(toll_contender)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "WORKLOAD;NAME;LANGUAGE;LIBRARY;SOURCE" "NEEDS")
  set(reason "")
  if(NOT arg_LANGUAGE STREQUAL "C++")
    set(reason "not C++")
  elseif(NOT EXISTS "${arg_SOURCE}")
    set(reason "${arg_SOURCE} does not exist; write it or take the line out of suite.toml")
    message(WARNING "${arg_WORKLOAD} ${arg_NAME}: ${reason}")
  endif()
  set(missing "")
  set(versions "")
  foreach(need IN LISTS arg_NEEDS)
    if(reason STREQUAL "")
      toll_find_need(${need})
      get_property(reason GLOBAL PROPERTY TOLL_NEED_${need}_REASON)
      get_property(missing GLOBAL PROPERTY TOLL_NEED_${need}_MISSING)
      get_property(version GLOBAL PROPERTY TOLL_NEED_${need}_VERSION)
      list(APPEND versions ${version})
    endif()
  endforeach()
  list(JOIN versions ", " version)
  if(version STREQUAL "" AND NOT arg_NEEDS AND arg_LANGUAGE STREQUAL "C++")
    toll_standard_library_version(version)
  endif()
  if(reason STREQUAL "")
    toll_contender_program("${version}")
  else()
    toll_contender_row(WORKLOAD "${arg_WORKLOAD}" NAME "${arg_NAME}" LANGUAGE "${arg_LANGUAGE}"
      TARGET "" EXECUTABLE "" AVAILABLE false REASON "${reason}" MISSING "${missing}" VERSION "${version}")
  endif()
endfunction()

# The second half of toll_contender(): everything is there.
macro(toll_contender_program program_version)
  cmake_path(NORMAL_PATH arg_SOURCE)
  cmake_path(GET arg_SOURCE STEM LAST_ONLY stem)
  cmake_path(GET arg_SOURCE PARENT_PATH folder)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/suites" OUTPUT_VARIABLE place)
  string(REPLACE "/" "-" target "${place}-${stem}")
  if(NOT TARGET "${target}")
    toll_source_program("${program_version}")
  endif()
  # The first that can be built of each workload always is: a test compares what it tells with suite.toml.
  get_property(seen GLOBAL PROPERTY "TOLL_WORKLOAD_${arg_WORKLOAD}")
  if(toll_contenders_in_all OR NOT seen)
    set_target_properties("${target}" PROPERTIES EXCLUDE_FROM_ALL FALSE)
    set_property(GLOBAL APPEND PROPERTY TOLL_BUILT_CONTENDERS "${target}")
    set_property(GLOBAL PROPERTY "TOLL_WORKLOAD_${arg_WORKLOAD}" TRUE)
  endif()
  toll_contender_row(WORKLOAD "${arg_WORKLOAD}" NAME "${arg_NAME}" LANGUAGE "${arg_LANGUAGE}"
    TARGET "${target}" EXECUTABLE "$<TARGET_FILE:${target}>" AVAILABLE true REASON ""
    VERSION "${program_version}")
endmacro()

# For workloads whose question is a loop of a few instructions: where such a one crosses a cache line it takes
# up to twice as long, and the linker decides whether it does. Over 18 layouts the update of an array's element
# took 0.073 or 0.143 ns; so aligned, 0.073 ns in all of them. What it costs, some bytes that are skipped before
# a loop, is nothing beside a loop that is not left for microseconds; elsewhere it would be. By program.cmake.
function(toll_align_loops target)
  target_compile_options(${target} PRIVATE -falign-loops=64)
endfunction()

# The executable of one source, for the first contender that names it.
macro(toll_source_program program_version)
  add_executable(${target} EXCLUDE_FROM_ALL "${arg_SOURCE}")
  add_dependencies(contenders ${target})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME "${stem}"
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/programs/${place}")
  target_compile_features(${target} PRIVATE cxx_std_20)
  # Each function in a section of its own: toll links the program several times, its functions elsewhere in
  # each, as where they lie is no property of a contender (python/tollbench/building/code_layouts.py).
  target_compile_options(${target} PRIVATE ${TOLL_WARNINGS} -ffunction-sections)
  target_compile_definitions(${target} PRIVATE
    TOLL_LIBRARY="${arg_LIBRARY}"
    TOLL_LIBRARY_VERSION="${program_version}")
  target_link_libraries(${target} PRIVATE toll::main)
  foreach(need IN LISTS arg_NEEDS)
    target_link_libraries(${target} PRIVATE toll_contender_${need})
  endforeach()
  include("${PROJECT_SOURCE_DIR}/suites/${arg_WORKLOAD}/program.cmake" OPTIONAL)
endmacro()

function(toll_write_contenders file)
  get_property(rows GLOBAL PROPERTY TOLL_CONTENDER_ROWS)
  string(REGEX REPLACE "^," "" rows "${rows}")
  file(GENERATE OUTPUT "${file}" CONTENT "[${rows}\n]\n")
endfunction()
