# ankerl::unordered_dense: a hash map that keeps its elements side by side in a vector. One header, which no
# package of Debian 12 brings: found where its CMake package or the header itself is, through CMAKE_PREFIX_PATH
# for one that lies elsewhere.
find_path(TOLL_UNORDERED_DENSE_INCLUDE ankerl/unordered_dense.h)
if(TOLL_UNORDERED_DENSE_INCLUDE)
  add_library(toll_contender_unordered_dense INTERFACE)
  target_include_directories(toll_contender_unordered_dense SYSTEM INTERFACE "${TOLL_UNORDERED_DENSE_INCLUDE}")
  toll_version_in_header(TOLL_UNORDERED_DENSE_VERSION
    "${TOLL_UNORDERED_DENSE_INCLUDE}/ankerl/unordered_dense.h" ANKERL_UNORDERED_DENSE_VERSION)
else()
  set(TOLL_UNORDERED_DENSE_REASON "ankerl/unordered_dense.h was not found; take it from \
https://github.com/martinus/unordered_dense, then name the folder that holds its include folder in CMAKE_PREFIX_PATH")
endif()
