# Abseil's hash maps and its B-tree map.
find_package(absl QUIET CONFIG)
if(TARGET absl::flat_hash_map)
  add_library(toll_contender_absl_containers INTERFACE)
  target_link_libraries(toll_contender_absl_containers INTERFACE absl::flat_hash_map absl::node_hash_map
    absl::btree absl::strings)
  set(TOLL_ABSL_CONTAINERS_VERSION "${absl_VERSION}")
else()
  set(TOLL_ABSL_CONTAINERS_REASON "Abseil was not found")
  set(TOLL_ABSL_CONTAINERS_MISSING absl_containers)
endif()
