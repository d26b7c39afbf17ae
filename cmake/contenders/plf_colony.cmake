# plf::colony: elements in blocks that stay where they are when others go. One header.
find_path(TOLL_PLF_COLONY_INCLUDE plf_colony.h)
if(TOLL_PLF_COLONY_INCLUDE)
  add_library(toll_contender_plf_colony INTERFACE)
  target_include_directories(toll_contender_plf_colony SYSTEM INTERFACE "${TOLL_PLF_COLONY_INCLUDE}")
else()
  set(TOLL_PLF_COLONY_REASON "plf::colony was not found")
  set(TOLL_PLF_COLONY_MISSING plf_colony)
endif()
