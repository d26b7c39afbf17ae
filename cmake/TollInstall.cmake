# cmake --install puts the library where find_package(toll) finds it. Contenders are not installed:
# they are measured where they were built.

include(CMakePackageConfigHelpers)

install(TARGETS toll toll_main toll_allocations EXPORT toll
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/toll DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT toll NAMESPACE toll:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/toll)

configure_package_config_file(cmake/toll-config.cmake.in "${PROJECT_BINARY_DIR}/toll-config.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/toll)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/toll-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/toll-config.cmake" "${PROJECT_BINARY_DIR}/toll-config-version.cmake"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/toll)
