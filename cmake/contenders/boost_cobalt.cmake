# Boost.Cobalt: coroutines on Boost.Asio, of one thread each; since Boost 1.84, which Debian 12 has not.
find_package(Boost QUIET COMPONENTS cobalt)
if(TARGET Boost::cobalt AND Boost_VERSION_STRING VERSION_GREATER_EQUAL 1.84)
  add_library(toll_contender_boost_cobalt INTERFACE)
  target_link_libraries(toll_contender_boost_cobalt INTERFACE Boost::cobalt)
  target_compile_definitions(toll_contender_boost_cobalt INTERFACE BOOST_ASIO_NO_DEPRECATED)
  set(TOLL_BOOST_COBALT_VERSION "${Boost_VERSION_STRING}")
else()
  set(TOLL_BOOST_COBALT_REASON "Boost.Cobalt (Boost 1.84 or later) was not found; next: toll env add debian-testing, \
then --env debian-testing:gcc-16")
endif()
