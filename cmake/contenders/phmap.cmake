# phmap: hash maps after Abseil's, in headers that need nothing else and that no package of Debian 12 brings:
# found through CMAKE_PREFIX_PATH where they lie elsewhere.
find_path(TOLL_PHMAP_INCLUDE parallel_hashmap/phmap.h)
if(TOLL_PHMAP_INCLUDE)
  add_library(toll_contender_phmap INTERFACE)
  target_include_directories(toll_contender_phmap SYSTEM INTERFACE "${TOLL_PHMAP_INCLUDE}")
  toll_version_in_header(TOLL_PHMAP_VERSION
    "${TOLL_PHMAP_INCLUDE}/parallel_hashmap/phmap_config.h" PHMAP_VERSION)
else()
  set(TOLL_PHMAP_REASON "parallel_hashmap/phmap.h was not found; take it from \
https://github.com/greg7mdp/parallel-hashmap, then name the folder that holds its include folder in CMAKE_PREFIX_PATH")
endif()
