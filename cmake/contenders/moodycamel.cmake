# moodycamel::ConcurrentQueue: a lock-free queue; headers only.
find_path(TOLL_MOODYCAMEL_INCLUDE concurrentqueue/blockingconcurrentqueue.h)
if(TOLL_MOODYCAMEL_INCLUDE)
  add_library(toll_contender_moodycamel INTERFACE)
  target_include_directories(toll_contender_moodycamel SYSTEM INTERFACE "${TOLL_MOODYCAMEL_INCLUDE}")
else()
  set(TOLL_MOODYCAMEL_REASON "moodycamel::ConcurrentQueue was not found")
  set(TOLL_MOODYCAMEL_MISSING moodycamel)
endif()
