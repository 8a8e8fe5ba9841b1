# Installation: library (shared and static), headers, pkg-config, CMake config, program, man page, the shipped model.
include(CMakePackageConfigHelpers)

install(TARGETS roformer-static roformer-shared roformer-kernels
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/roformer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
if(TARGET roformer-program)
  install(TARGETS roformer-program DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${PROJECT_BINARY_DIR}/man/roformer.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${PROJECT_BINARY_DIR}/completions/roformer DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${PROJECT_BINARY_DIR}/completions/_roformer DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${PROJECT_BINARY_DIR}/completions/roformer.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/models)
  install(DIRECTORY models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/roformer/models)
endif()
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})

get_property(requires GLOBAL PROPERTY rf_requires)
list(REMOVE_DUPLICATES requires)
list(JOIN requires " " RF_REQUIRES)
set(RF_LIBS_PRIVATE "-pthread -lm")
if(RF_DNNL)
  string(PREPEND RF_LIBS_PRIVATE "-fopenmp -ldnnl ")
endif()
# Relative to where the .pc file lies, so that `make install PREFIX=...` needs no new configuration.
file(RELATIVE_PATH RF_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/roformer.pc.in roformer.pc @ONLY)
configure_file(cmake/roformer-kernels.pc.in roformer-kernels.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/roformer.pc ${PROJECT_BINARY_DIR}/roformer-kernels.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_package_config_file(cmake/roformer-config.cmake.in roformer-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/roformer)
write_basic_package_version_file(roformer-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/roformer-config.cmake ${PROJECT_BINARY_DIR}/roformer-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/roformer)
