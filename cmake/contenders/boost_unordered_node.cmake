# Boost.Unordered's open-addressing maps with a node an element: since Boost 1.82. A search for that version
# would forget the older Boost that others have found, so its number is looked at instead.
include("${CMAKE_CURRENT_LIST_DIR}/../TollFindBoost.cmake")
if(TARGET Boost::headers AND Boost_VERSION_STRING VERSION_GREATER_EQUAL 1.82)
  add_library(toll_contender_boost_unordered_node INTERFACE)
  target_link_libraries(toll_contender_boost_unordered_node INTERFACE Boost::headers)
  set(TOLL_BOOST_UNORDERED_NODE_VERSION "${Boost_VERSION_STRING}")
elseif(TARGET Boost::headers)
  set(TOLL_BOOST_UNORDERED_NODE_REASON
    "boost::unordered_node_map came with Boost 1.82; this machine has ${Boost_VERSION_STRING}")
else()
  set(TOLL_BOOST_UNORDERED_NODE_REASON "Boost 1.82 or later was not found")
endif()
