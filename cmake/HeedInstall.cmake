# What `cmake --install` puts in place, in components:
#   runtime        the program, and its part for GPUs
#   mpi            its part for several ranks
#   library        libheed.so.0, for whoever calls it from C
#   development    headers, libheed.so, the C++ libraries, CMake packages and heed.pc
#   documentation  the pages as a site (HeedSite.cmake)
#   server         configuration and units of `heed serve`
#   python         the Python module
# find_package(heed) has heed::api for C++; with COMPONENTS c it has heed::c alone, which needs no other package.

include(CMakePackageConfigHelpers)

if(TARGET heed)
  install(TARGETS heed RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
  # Manual pages and completion, which the program writes. Where it can't run here, an emulator does.
  install(CODE "set(heed \"${CMAKE_CROSSCOMPILING_EMULATOR}\" \"$<TARGET_FILE:heed>\")
    set(written \"${PROJECT_BINARY_DIR}/described\")" COMPONENT runtime)
  install(SCRIPT "${PROJECT_SOURCE_DIR}/cmake/HeedDescribe.cmake" COMPONENT runtime)
endif()
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/heed")
get_property(folders GLOBAL PROPERTY heed_folders)
foreach(folder IN LISTS folders)
  get_property(leaf GLOBAL PROPERTY heed_leaf_${folder})
  if(leaf)
    continue()
  endif()
  heed_target_name(target "${folder}")
  string(REGEX REPLACE "^heed_" "" name "${target}")
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS ${target} EXPORT heed ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}/heed" COMPONENT development)
endforeach()
# Without plan.h and its types: a leaf implements it, and leaves are not installed.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/heed" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
  REGEX "/plan\\.h$" EXCLUDE)
install(EXPORT heed NAMESPACE heed:: FILE heedTargets.cmake DESTINATION "${package}" COMPONENT development)

install(TARGETS heed_c EXPORT heed_c LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  COMPONENT library NAMELINK_COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/bindings/c/heed.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
install(EXPORT heed_c NAMESPACE heed:: FILE heedCTargets.cmake DESTINATION "${package}" COMPONENT development)

# The prefix is where heed.pc lies: the tree may be moved.
file(RELATIVE_PATH to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" to_prefix "${to_prefix}")
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/heed.pc" @ONLY CONTENT "prefix=\${pcfiledir}/@to_prefix@
libdir=\${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: heed
Description: @PROJECT_DESCRIPTION@, for C
Version: @PROJECT_VERSION@
Libs: -L\${libdir} -lheed
Cflags: -I\${includedir}
")
install(FILES "${PROJECT_BINARY_DIR}/heed.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)

write_basic_package_version_file("${PROJECT_BINARY_DIR}/heedConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/heedConfig.cmake" "${PROJECT_SOURCE_DIR}/cmake/HeedDependencies.cmake"
  "${PROJECT_BINARY_DIR}/heedConfigVersion.cmake" DESTINATION "${package}" COMPONENT development)
