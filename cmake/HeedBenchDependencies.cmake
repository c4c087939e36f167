# What the benchmark links beside heed's own dependencies: the yardstick that speed is compared with. Embedders need
# neither.

find_package(OpenMP REQUIRED)  # to tell oneDNN how many threads it has

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
