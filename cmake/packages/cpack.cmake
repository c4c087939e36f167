# Read by cpack before each generator: archives have no server, whose files lie in /etc, and are moved as they are.
if(CPACK_GENERATOR STREQUAL "TGZ")
  set(CPACK_PACKAGING_INSTALL_PREFIX "/")
  set(CPACK_PACKAGE_FILE_NAME "heed-${CPACK_PACKAGE_VERSION}-debian12-${CPACK_HEED_PROCESSOR}")
endif()
