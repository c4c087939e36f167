# The part for NVIDIA GPUs, plugins/heed_cuda, in two forms: heed_cuda, which nvcc compiles where it is found, and
# heed_cuda_emulated, whose kernels run on the CPU, for tests. The program loads either one when it is asked for a GPU;
# nothing links them. They lie beside the program, and heed_cuda is installed to lib/heed/.

set(HEED_CUDA AUTO CACHE STRING "Build the part for NVIDIA GPUs: ON, OFF, or AUTO, which is where nvcc is found")
set_property(CACHE HEED_CUDA PROPERTY STRINGS AUTO ON OFF)
set(HEED_CUDA_ARCHITECTURES "80-real;90" CACHE STRING
  "What to compile kernels for, as in CMAKE_CUDA_ARCHITECTURES")

# What the program and the library must agree about: a checksum of the headers of the interface between them.
file(GLOB interface CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/kernels/*.h"
  "${PROJECT_SOURCE_DIR}/src/kernels/calls/*.h" "${PROJECT_SOURCE_DIR}/src/tensor/*.h")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${interface})
set(checksums "")
foreach(header IN LISTS interface)
  file(SHA256 "${header}" checksum)
  string(APPEND checksums "${checksum}")
endforeach()
string(SHA256 checksum "${checksums}")
string(SUBSTRING "${checksum}" 0 16 checksum)
set(interface_definition "HEED_INTERFACE=\"${checksum}\"")
target_compile_definitions(heed_devices PRIVATE "${interface_definition}")

set(cuda_folder "${PROJECT_SOURCE_DIR}/plugins/heed_cuda")
file(GLOB cuda_sources CONFIGURE_DEPENDS "${cuda_folder}/*.cpp" "${cuda_folder}/kernels/*/*.cpp")
list(FILTER cuda_sources EXCLUDE REGEX "/plugin\\.cpp$")
file(GLOB cuda_kernels CONFIGURE_DEPENDS "${cuda_folder}/kernels/*/*.cu")

# The emulated form compiles the same kernels as C++.
set(emulated_kernels "")
foreach(kernel IN LISTS cuda_kernels)
  file(RELATIVE_PATH name "${cuda_folder}/kernels" "${kernel}")
  string(REGEX REPLACE "\\.cu$" ".cpp" source "${PROJECT_BINARY_DIR}/heed_cuda_emulated/${name}")
  file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"heed_cuda/kernels/${name}\"\n")
  list(APPEND emulated_kernels "${source}")
endforeach()
if(HEED_BUILD_TESTS)
  file(GLOB emulation CONFIGURE_DEPENDS "${cuda_folder}/device/emulat*.cpp" "${cuda_folder}/device/*_emulated.cpp")
  list(FILTER emulation EXCLUDE REGEX "_controls\\.cpp$")
  add_library(heed_cuda_emulation STATIC ${cuda_sources} ${emulated_kernels} ${emulation})
  target_include_directories(heed_cuda_emulation PUBLIC "${PROJECT_SOURCE_DIR}/plugins")
  target_link_libraries(heed_cuda_emulation PUBLIC heed_kernels PRIVATE heed_flags)
  if(HEED_SANITIZE)
    target_compile_options(heed_cuda_emulation PRIVATE $<IF:$<CXX_COMPILER_ID:Clang>,-O2,-O1>)
  endif()
  add_library(heed_cuda_emulated MODULE "${cuda_folder}/plugin.cpp" "${cuda_folder}/device/emulated_controls.cpp")
  target_compile_definitions(heed_cuda_emulated PRIVATE "${interface_definition}")
  target_link_libraries(heed_cuda_emulated PRIVATE heed_cuda_emulation heed_flags)
  if(NOT HEED_SANITIZE)
    target_link_options(heed_cuda_emulated PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(heed_cuda_emulated PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
endif()

if(NOT HEED_CUDA OR HEED_SANITIZE)
  return()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES "${HEED_CUDA_ARCHITECTURES}")
endif()
include(CheckLanguage)
if(NOT DEFINED CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
  set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
endif()
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(HEED_CUDA STREQUAL "AUTO")
    message(STATUS "heed: built without its part for NVIDIA GPUs (no nvcc was found)")
    return()
  endif()
  message(FATAL_ERROR "HEED_CUDA is ON, and nvcc was not found; name it in CMAKE_CUDA_COMPILER")
endif()
enable_language(CUDA)
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")  # which CMake 3.25 does not know of nvcc
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
find_package(CUDAToolkit REQUIRED)

if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
endif()

file(GLOB device CONFIGURE_DEPENDS "${cuda_folder}/device/*_cuda.cpp")
add_library(heed_cuda MODULE "${cuda_folder}/plugin.cpp" ${device} ${cuda_sources} ${cuda_kernels})
target_include_directories(heed_cuda PRIVATE "${PROJECT_SOURCE_DIR}/plugins")
# fmt does without constexpr where it sees nvcc, in some places and not in others.
target_compile_definitions(heed_cuda PRIVATE "${interface_definition}" $<$<COMPILE_LANGUAGE:CUDA>:FMT_USE_CONSTEXPR=1>)
target_compile_options(heed_cuda PRIVATE
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr -O3 -diag-suppress=554>
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
target_link_libraries(heed_cuda PRIVATE heed_kernels CUDA::cudart_static CUDA::cublasLt)
target_link_options(heed_cuda PRIVATE -Wl,--no-undefined)
set_target_properties(heed_cuda PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
install(TARGETS heed_cuda LIBRARY DESTINATION lib/heed COMPONENT runtime)
