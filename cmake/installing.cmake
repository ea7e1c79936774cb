# SPDX-License-Identifier: Apache-2.0
# The package for find_package(troupe COMPONENTS core testkit net http lua server) after an
# installation.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/troupe)

get_property(parts GLOBAL PROPERTY TROUPE_PARTS)
foreach(part IN LISTS parts)
  install(TARGETS troupe_${part} EXPORT troupe-${part} FILE_SET HEADERS)
  install(EXPORT troupe-${part} FILE troupe-${part}.cmake NAMESPACE troupe::
          DESTINATION ${package_folder})
endforeach()

configure_package_config_file(cmake/troupe-config.cmake.in troupe-config.cmake
  INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO)
# Before 1.0, a minor version may be incompatible with the one before.
write_basic_package_version_file(troupe-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/troupe-config.cmake
              ${PROJECT_BINARY_DIR}/troupe-config-version.cmake
              cmake/FindLuaCxx.cmake
              cmake/FindLuaJIT.cmake
        DESTINATION ${package_folder})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
