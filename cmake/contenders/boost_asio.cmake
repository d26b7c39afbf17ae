# Boost.Asio with C++20 coroutines: headers alone. Its thread pool and its coroutines over an
# executor's own type are there since Boost 1.74.
include("${CMAKE_CURRENT_LIST_DIR}/../TollFindBoost.cmake")
if(TARGET Boost::headers AND Boost_VERSION_STRING VERSION_GREATER_EQUAL 1.74)
  add_library(toll_contender_boost_asio INTERFACE)
  target_link_libraries(toll_contender_boost_asio INTERFACE Boost::headers)
  target_compile_definitions(toll_contender_boost_asio INTERFACE BOOST_ASIO_NO_DEPRECATED)
  set(TOLL_BOOST_ASIO_VERSION "${Boost_VERSION_STRING}")
else()
  set(TOLL_BOOST_ASIO_REASON "Boost 1.74 or later was not found")
  set(TOLL_BOOST_ASIO_MISSING boost_asio)
endif()
