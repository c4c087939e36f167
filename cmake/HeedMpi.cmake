# heed_mpi: the plugin through which heed speaks MPI, where Open MPI is there to build it with. The program loads it
# when it runs as one of several ranks; nothing links it. It lies beside the program, and is installed to lib/heed/.

option(HEED_MPI "Build the MPI part, if Open MPI is found" ON)
if(HEED_MPI)
  pkg_check_modules(HEED_OPEN_MPI QUIET IMPORTED_TARGET ompi-c)
endif()
# Sanitizers would report what Open MPI itself leaves behind.
if(NOT HEED_OPEN_MPI_FOUND OR HEED_SANITIZE)
  message(STATUS "heed: built without its MPI part (Debian's package is libopenmpi-dev)")
  return()
endif()
add_library(heed_mpi MODULE "${PROJECT_SOURCE_DIR}/plugins/heed_mpi.cpp")
target_include_directories(heed_mpi PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(heed_mpi PRIVATE PkgConfig::HEED_OPEN_MPI heed_flags)
set_target_properties(heed_mpi PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}" CXX_VISIBILITY_PRESET hidden)
if(TARGET heed)
  add_dependencies(heed heed_mpi)
endif()
install(TARGETS heed_mpi LIBRARY DESTINATION lib/heed COMPONENT mpi)
