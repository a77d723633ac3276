# cmake --install: the program, the static library, its headers under include/heed/ and a CMake package.
include(CMakePackageConfigHelpers)

set(heed_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heed)

if(TARGET heed_cli)
  install(TARGETS heed_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET heed_mpi)
  install(TARGETS heed_mpi LIBRARY DESTINATION lib/heed)
endif()
install(TARGETS heed EXPORT heed_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heed
        FILES_MATCHING PATTERN "*.h"
        PATTERN "cli" EXCLUDE)
install(EXPORT heed_targets NAMESPACE heed:: FILE heedTargets.cmake DESTINATION ${heed_package_dir})

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/heedConfig.cmake.in ${PROJECT_BINARY_DIR}/heedConfig.cmake
  INSTALL_DESTINATION ${heed_package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heedConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heedConfig.cmake ${PROJECT_BINARY_DIR}/heedConfigVersion.cmake
        ${PROJECT_SOURCE_DIR}/cmake/FindOneDNN.cmake ${PROJECT_SOURCE_DIR}/cmake/FindSentencePiece.cmake
        ${PROJECT_SOURCE_DIR}/cmake/FindUtf8proc.cmake ${PROJECT_SOURCE_DIR}/cmake/FindHttplib.cmake
        DESTINATION ${heed_package_dir})
