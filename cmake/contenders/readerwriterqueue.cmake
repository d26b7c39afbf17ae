# moodycamel::ReaderWriterQueue: one producer, one consumer; headers only.
find_path(TOLL_READERWRITERQUEUE_INCLUDE readerwriterqueue/readerwriterqueue.h)
if(TOLL_READERWRITERQUEUE_INCLUDE)
  add_library(toll_contender_readerwriterqueue INTERFACE)
  target_include_directories(toll_contender_readerwriterqueue SYSTEM INTERFACE "${TOLL_READERWRITERQUEUE_INCLUDE}")
else()
  set(TOLL_READERWRITERQUEUE_REASON "moodycamel::ReaderWriterQueue was not found")
  set(TOLL_READERWRITERQUEUE_MISSING readerwriterqueue)
endif()
