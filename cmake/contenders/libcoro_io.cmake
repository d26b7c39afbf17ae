# libcoro's io_scheduler: only in a libcoro that was built with LIBCORO_FEATURE_NETWORKING, of which its headers tell
# nothing.
toll_find_need(libcoro)
if(TARGET toll_contender_libcoro)
  toll_line_of(made "${TOLL_LIBCORO_LIBRARY}" "io_scheduler11make_unique")
  if(NOT EXISTS "${TOLL_LIBCORO_INCLUDE}/coro/io_scheduler.hpp")
    set(TOLL_LIBCORO_IO_REASON "libcoro in ${TOLL_LIBCORO_INCLUDE} has no coro/io_scheduler.hpp: it is newer than this row")
  elseif(made)
    add_library(toll_contender_libcoro_io INTERFACE)
    target_link_libraries(toll_contender_libcoro_io INTERFACE toll_contender_libcoro)
    get_property(TOLL_LIBCORO_IO_VERSION GLOBAL PROPERTY TOLL_NEED_libcoro_VERSION)
  else()
    set(TOLL_LIBCORO_IO_REASON "libcoro in ${TOLL_LIBCORO_LIBRARY} was built without \
LIBCORO_FEATURE_NETWORKING; build it anew with that, for which its submodules are needed, in an empty folder")
  endif()
else()
  get_property(TOLL_LIBCORO_IO_REASON GLOBAL PROPERTY TOLL_NEED_libcoro_REASON)
endif()
