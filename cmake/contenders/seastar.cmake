# Seastar: shared-nothing reactors. Debian's package is a static library that is not position independent;
# its pkg-config file leaves out half of what it calls and gives 1.0 as its version, whatever it is.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(TOLL_SEASTAR QUIET seastar)
endif()
if(TOLL_SEASTAR_FOUND)
  add_library(toll_contender_seastar INTERFACE)
  # The library stands there by its path, which an imported target would put before the objects.
  target_link_libraries(toll_contender_seastar INTERFACE
    -no-pie ${TOLL_SEASTAR_LDFLAGS} yaml-cpp gnutls hwloc uring sctp numa atomic)
  list(FILTER TOLL_SEASTAR_CFLAGS_OTHER EXCLUDE REGEX "^-std=")
  target_compile_features(toll_contender_seastar INTERFACE cxx_std_23)
  target_compile_options(toll_contender_seastar INTERFACE ${TOLL_SEASTAR_CFLAGS_OTHER})
  execute_process(COMMAND dpkg-query --show "--showformat=\${Version}" seastar-dev
    OUTPUT_VARIABLE seastar_package ERROR_QUIET)
  if(seastar_package)
    set(TOLL_SEASTAR_VERSION "${seastar_package}")
  endif()
else()
  set(TOLL_SEASTAR_REASON "Seastar was not found; it is in the environment debian13")
endif()
