# Compiler settings of toll's own targets and of contenders. A project that uses toll through
# add_subdirectory or find_package keeps its own settings: everything here is per target or applies
# to this directory alone.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# Position independent: the loader then places the program anew at every launch (a layout is one
# sample of many), and the weak symbols of the allocation counter can be bound at start.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release)
endif()

# -O2, not -O3: what distributions build their packages with, so a contender's own code and the
# packaged library behind it stand on the same footing. Not -march=native: prices are to hold for
# the baseline that people ship, and a run file could not say what "native" was. -g1 adds line
# tables without changing a single instruction, so that perf can name what it sees. Frame pointers
# are left out (the compiler's default), because they cost a register and a push in every function
# that is measured. NDEBUG is defined: contenders are measured as they are shipped.
# An environment such as gcc-12-O3 asks for another level: it stands in for -O2, because of two levels
# on one command line the last one counts.
if(PROJECT_IS_TOP_LEVEL)
  set(TOLL_OPTIMIZATION "-O2" CACHE STRING "Optimization level of what is measured")
  set(CMAKE_CXX_FLAGS_RELEASE "${TOLL_OPTIMIZATION} -g1 -DNDEBUG")
endif()

set(TOLL_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor)

find_package(Threads REQUIRED)
