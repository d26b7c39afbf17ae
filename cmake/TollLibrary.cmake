# toll::toll (the measuring library), toll::main (its main function), libtoll_allocations.so,
# and two programs of the library's own: the canary and the empty contender.

find_package(nlohmann_json 3.10 REQUIRED)

add_library(toll STATIC
  src/allocations.cpp
  src/arguments.cpp
  src/batch.cpp
  src/channel.cpp
  src/clock.cpp
  src/contender.cpp
  src/counters.cpp
  src/failure.cpp
  src/gauge.cpp
  src/launch.cpp
  src/layout.cpp
  src/offset.cpp
  src/protocol.cpp
  src/resources.cpp
  src/serve.cpp
  src/table.cpp
  src/threads.cpp)
add_library(toll::toll ALIAS toll)
target_include_directories(toll
  PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  PRIVATE src)
target_compile_features(toll PUBLIC cxx_std_20)
target_compile_options(toll PRIVATE ${TOLL_WARNINGS})
target_link_libraries(toll
  PUBLIC Threads::Threads ${CMAKE_DL_LIBS}
  PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)

add_library(toll_main STATIC src/main.cpp)
add_library(toll::main ALIAS toll_main)
set_target_properties(toll_main PROPERTIES EXPORT_NAME main)
target_link_libraries(toll_main PUBLIC toll)

add_library(toll_allocations SHARED src/allocations_preload.cpp)
add_library(toll::allocations ALIAS toll_allocations)
set_target_properties(toll_allocations PROPERTIES
  EXPORT_NAME allocations
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
target_compile_features(toll_allocations PRIVATE cxx_std_20)
# Not optimized at link time, where compilers believe to know what malloc does.
target_compile_options(toll_allocations PRIVATE ${TOLL_WARNINGS} -fno-builtin -fno-lto)
target_link_libraries(toll_allocations PRIVATE ${CMAKE_DL_LIBS})

# `toll compare --count` compiles these by itself, where nothing else is built; here they are held to the same rules.
foreach(library IN ITEMS counts marks)
  add_library(toll_${library} SHARED src/${library}_preload.cpp)
  target_compile_features(toll_${library} PRIVATE cxx_std_20)
  target_compile_options(toll_${library} PRIVATE ${TOLL_WARNINGS} -fno-builtin -fno-lto)
  target_link_libraries(toll_${library} PRIVATE ${CMAKE_DL_LIBS})
endforeach()

add_executable(toll_counted_launch src/counted_launch.cpp)
target_compile_features(toll_counted_launch PRIVATE cxx_std_20)
target_compile_options(toll_counted_launch PRIVATE ${TOLL_WARNINGS})

foreach(program IN ITEMS canary empty)
  add_executable(toll_${program} src/${program}.cpp)
  target_link_libraries(toll_${program} PRIVATE toll_main)
  target_compile_options(toll_${program} PRIVATE ${TOLL_WARNINGS})
  set_target_properties(toll_${program} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
endforeach()
