# Debian packages and archives, by `cpack`; tools/package does it all in one call. Components, which HeedInstall.cmake
# names, become packages: heed, heed-mpi, libheed0, libheed-dev, heed-doc, heed-server and, where it is built, python3-heed.

set(HEED_MAINTAINER "heed authors <maintainers@heed.invalid>" CACHE STRING "Who answers for the packages")

# What CPack does not make of a component: changelog and copyright. EXCLUDE_FROM_ALL keeps what only packages contain out
# of a plain `cmake --install`.
string(TIMESTAMP HEED_PACKAGE_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, where it is set
function(heed_package component name)
  string(TOUPPER "${component}" upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME "${name}" PARENT_SCOPE)
  set(folder "${PROJECT_BINARY_DIR}/packages/${name}")
  set(HEED_PACKAGE "${name}")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/packages/changelog.in" "${folder}/changelog.Debian" @ONLY)
  configure_file("${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${folder}/changelog" COPYONLY)
  execute_process(COMMAND gzip --no-name --best --force changelog.Debian changelog WORKING_DIRECTORY "${folder}"
    COMMAND_ERROR_IS_FATAL ANY)
  install(FILES "${folder}/changelog.Debian.gz" "${folder}/changelog.gz" ${ARGN} DESTINATION share/doc/${name}
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

# Archives, and what `cmake --install` puts in place, have one copyright.
set(copyright "${PROJECT_SOURCE_DIR}/cmake/packages/copyright")
install(FILES "${copyright}" DESTINATION share/doc/heed COMPONENT runtime)
heed_package(runtime heed)
heed_package(library libheed0 "${copyright}")
heed_package(development libheed-dev "${copyright}")
heed_package(documentation heed-doc "${copyright}")
heed_package(server heed-server "${copyright}")
if(TARGET heed_mpi)
  heed_package(mpi heed-mpi "${copyright}")
endif()
if(TARGET heed_python)
  heed_package(python python3-heed "${copyright}")
endif()

# The example's unit runs as a user that exists for as long as it runs; the package's user may own models.
file(READ "${PROJECT_SOURCE_DIR}/examples/serving/heed.service" unit)
string(REPLACE "DynamicUser=yes" "User=heed\nGroup=heed" unit "${unit}")
string(REPLACE "Description=" "Documentation=man:heed-serve(1)\nDescription=" unit "${unit}")
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/packages/heed.service" CONTENT "${unit}" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/packages/heed.service" "${PROJECT_SOURCE_DIR}/examples/serving/heed.socket"
  DESTINATION lib/systemd/system COMPONENT server EXCLUDE_FROM_ALL)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/packages/serve.toml" DESTINATION /etc/heed COMPONENT server EXCLUDE_FROM_ALL)
install(FILES "${PROJECT_SOURCE_DIR}/examples/serving/nginx.conf" DESTINATION share/doc/heed-server/examples
  COMPONENT server EXCLUDE_FROM_ALL)
# dpkg's list of symbols, with the version in which each came.
file(STRINGS "${PROJECT_SOURCE_DIR}/bindings/c/symbols.txt" symbols)
set(lines "libheed.so.0 libheed0 #MINVER#\n HEED_0@HEED_0 0.1.0\n")
foreach(symbol IN LISTS symbols)
  string(APPEND lines " ${symbol} 0.1.0\n")
endforeach()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/packages/symbols" CONTENT "${lines}" @ONLY)

set(CPACK_PACKAGE_NAME heed)
set(CPACK_PACKAGE_VENDOR heed)
set(CPACK_PACKAGE_CONTACT "${HEED_MAINTAINER}")
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_HEED_PROCESSOR "${CMAKE_SYSTEM_PROCESSOR}")  # for cpack.cmake
if(HEED_ARM64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
  WORLD_EXECUTE)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/packages/cpack.cmake")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(same_version "(= ${PROJECT_VERSION}-1)")

# Descriptions begin with their own summary, and CPack puts nothing before it where the project's is its default.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_NAME} built using CMake")
set(about "heed trains, runs, evaluates, quantizes and serves Transformers: translators,
language models and encoders, on CPUs, without Python.

")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "program that trains and runs Transformers
${about}This is the program, with its manual.")
set(CPACK_COMPONENT_MPI_DESCRIPTION "program that trains Transformers, the part for several machines
${about}This is the library by which its processes speak MPI.")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "library that runs Transformers
${about}This is the library for programs in C and other languages.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "library that runs Transformers, development files
${about}These are the headers and libraries for programs in C and C++.")
set(CPACK_COMPONENT_DOCUMENTATION_DESCRIPTION "program that trains and runs Transformers, documentation
${about}These are its pages as a site, with a search and the reference of its
commands and its interfaces for C++, C and Python.")
set(CPACK_COMPONENT_SERVER_DESCRIPTION "server that answers requests with Transformers
${about}This is heed as a service, for clients of OpenAI, LibreTranslate and Text
Embeddings Inference: a unit of systemd, a user and a configuration.")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Python module that trains and runs Transformers
${about}This is the module for Python 3.")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION science)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "heed-doc, heed-mpi, heed-server")
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "heed ${same_version}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libheed0 ${same_version}")
# For the libraries in C++, which are static; C needs none of them.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "libfmt-dev, libhwy-dev, libicu-dev, libsentencepiece-dev, \
libtomlplusplus-dev, nlohmann-json3-dev, pkg-config, zlib1g-dev")
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "heed ${same_version}, adduser")
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_SERVER_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_SERVER_PACKAGE_ARCHITECTURE all)
# The module is built for one minor version of Python.
math(EXPR next_minor "0${Python_VERSION_MINOR} + 1")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}~), \
python3 (<< ${Python_VERSION_MAJOR}.${next_minor}), python3-numpy")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/packages/symbols"
  "${PROJECT_SOURCE_DIR}/cmake/packages/libheed0/triggers")
set(scripts "${PROJECT_SOURCE_DIR}/cmake/packages/heed-server")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA "${scripts}/postinst;${scripts}/prerm;${scripts}/postrm;${scripts}/conffiles")

include(CPack)
