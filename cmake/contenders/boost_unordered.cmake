# Boost.Unordered's map with a node an element and closed addressing. One may ask it for a text by a view since
# Boost 1.79. A search for that version would forget the older Boost that others have found, so its number is
# looked at instead.
include("${CMAKE_CURRENT_LIST_DIR}/../TollFindBoost.cmake")
if(TARGET Boost::headers AND Boost_VERSION_STRING VERSION_GREATER_EQUAL 1.79)
  add_library(toll_contender_boost_unordered INTERFACE)
  target_link_libraries(toll_contender_boost_unordered INTERFACE Boost::headers)
  set(TOLL_BOOST_UNORDERED_VERSION "${Boost_VERSION_STRING}")
else()
  set(TOLL_BOOST_UNORDERED_REASON "Boost 1.79 or later was not found")
  set(TOLL_BOOST_UNORDERED_MISSING boost_unordered)
endif()
