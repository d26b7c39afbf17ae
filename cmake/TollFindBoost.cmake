# Boost's headers, in a version that some contender takes where there is one: a folder that is searched first may hold
# an older one. Each contender looks at Boost_VERSION_STRING besides, as a search for a version fails where the target
# is there by then, and leaves it there.
if(NOT TARGET Boost::headers)
  find_package(Boost 1.74 QUIET)
endif()
if(NOT TARGET Boost::headers OR NOT Boost_FOUND)
  find_package(Boost QUIET)
endif()
