# What heed's libraries link. All of it comes from the system's packages; tools/packages.sh lists their names. Installed
# beside heedConfig.cmake, so that whoever links the libraries finds the same.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(ZLIB REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc)
find_package(OpenMP REQUIRED)  # to tell oneDNN, in benchmarks, how many threads it has
find_package(PkgConfig REQUIRED)
pkg_check_modules(SENTENCEPIECE REQUIRED IMPORTED_TARGET GLOBAL sentencepiece)

# heed::onednn. Its own CMake file also asks for OpenCL's headers, which nothing here uses.
find_path(HEED_ONEDNN_INCLUDE dnnl.hpp)
find_library(HEED_ONEDNN_LIBRARY dnnl)
mark_as_advanced(HEED_ONEDNN_INCLUDE HEED_ONEDNN_LIBRARY)
if(NOT HEED_ONEDNN_INCLUDE OR NOT HEED_ONEDNN_LIBRARY)
  message(FATAL_ERROR "heed needs oneDNN, the roofline of its benchmark: dnnl.hpp (HEED_ONEDNN_INCLUDE) or libdnnl "
    "(HEED_ONEDNN_LIBRARY) was not found; Debian's package is libdnnl-dev")
endif()
if(NOT TARGET heed::onednn)
  add_library(heed::onednn UNKNOWN IMPORTED)
  set_target_properties(heed::onednn PROPERTIES
    IMPORTED_LOCATION "${HEED_ONEDNN_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${HEED_ONEDNN_INCLUDE}")
endif()
