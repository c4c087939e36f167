# What the project links. All of it comes from the system's packages; tools/packages.sh lists their names.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc)
find_package(PkgConfig REQUIRED)
pkg_check_modules(SENTENCEPIECE REQUIRED IMPORTED_TARGET GLOBAL sentencepiece)

# heed::onednn, where oneDNN is installed. Its own CMake file also asks for OpenCL's headers, which nothing here uses.
find_path(HEED_ONEDNN_INCLUDE dnnl.hpp)
find_library(HEED_ONEDNN_LIBRARY dnnl)
mark_as_advanced(HEED_ONEDNN_INCLUDE HEED_ONEDNN_LIBRARY)
if(HEED_ONEDNN_INCLUDE AND HEED_ONEDNN_LIBRARY)
  add_library(heed::onednn UNKNOWN IMPORTED)
  set_target_properties(heed::onednn PROPERTIES
    IMPORTED_LOCATION "${HEED_ONEDNN_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${HEED_ONEDNN_INCLUDE}")
endif()

find_package(OpenMP REQUIRED)  # to tell oneDNN, in benchmarks, how many threads it has
