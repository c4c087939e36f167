# Options and the flags that every target of the project is compiled with.

option(HEED_BUILD_TESTS "Build the tests" ON)
option(HEED_BUILD_BENCH "Build the benchmarks (release builds only)" ON)
option(HEED_WARNINGS_AS_ERRORS "Stop at the first warning" OFF)
set(HEED_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")
option(HEED_FUZZ "Build the fuzzers, which need Clang" OFF)
set(HEED_INSTRUCTION_SETS "avx512" CACHE STRING
  "The best instruction set that kernels are compiled for: sse4, avx2, avx512, or native, this processor's and SSE4")
set(HEED_PYTHON "/usr/bin/python3" CACHE FILEPATH "The Python that runs scripts and, with PyTorch, the parity tests")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

# Most of what a file takes to compile are the headers, its own and the library's: files of one folder share them.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(unity ON)
else()
  set(unity OFF)
endif()
option(HEED_UNITY "Compile the files of a folder together" ${unity})

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(HEED_X86_64 ON)
else()
  set(HEED_X86_64 OFF)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(HEED_ARM64 ON)
else()
  set(HEED_ARM64 OFF)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# The project's own checks do not look at NDEBUG, so a release build keeps them.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# heed_flags holds what the project's own targets are compiled with. It is never installed.
add_library(heed_flags INTERFACE)
target_compile_options(heed_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wextra-semi -Wformat=2
  -Wimplicit-fallthrough -Wunused -Wvla
  # A designated initializer leaves the other members to their defaults on purpose.
  -Wno-missing-field-initializers
  # A sum is rounded as it is written: results do not change with what the compiler inlines. Fused multiply-add is asked
  # for by name.
  -ffp-contract=off
  # Unused functions of the linked libraries stay out of the binary.
  -ffunction-sections -fdata-sections)
target_link_options(heed_flags INTERFACE -Wl,--gc-sections)
if(HEED_WARNINGS_AS_ERRORS)
  target_compile_options(heed_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(heed_flags INTERFACE -Wduplicated-cond -Wlogical-op -Wsuggest-override)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 warns about std::string's own operator+ (GCC bug 105651).
    target_compile_options(heed_flags INTERFACE -Wno-restrict)
  endif()
endif()
target_compile_definitions(heed_flags INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)

if(HEED_SANITIZE)
  # Applied to everything, since a sanitizer's runtime must be linked wherever its code is.
  add_compile_options(-fsanitize=${HEED_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  if(HEED_SANITIZE MATCHES "address.*undefined")
    # The address sanitizer sees what is done with a wrong pointer. Checking each pointer that is formed besides takes a
    # sixth of the time to compile.
    add_compile_options(-fno-sanitize=null,object-size,pointer-overflow)
  endif()
  add_link_options(-fsanitize=${HEED_SANITIZE} -fno-sanitize-recover=all)
  # Instrumented code defeats the flow analysis behind this warning of GCC's.
  target_compile_options(heed_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()

find_program(HEED_CCACHE ccache)
if(HEED_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${HEED_CCACHE}")
  if(HEED_SANITIZE OR NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    # A clone in another folder finds what this one compiled. Not for debuggers, which would open the other's sources.
    list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER
         "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=true)
  endif()
endif()

# With ccache headers are not precompiled (HeedPrecompiled.cmake): it would find nothing in another clone, and so each file
# is held to name what it uses.
option(HEED_PRECOMPILE "Precompile common headers where files are compiled together and ccache is not there" ON)
set(HEED_PRECOMPILED OFF)
set(batch 16)
if(HEED_PRECOMPILE AND HEED_UNITY AND NOT HEED_CCACHE)
  set(HEED_PRECOMPILED ON)
  # Larger units cost less in all, but more whenever one of their files changes. Without ccache, most people build once.
  set(batch 64)
  # GCC's collector goes through all that is alive whenever its heap has grown, which is a twelfth of a cold build. No unit
  # needs 1 GB, so that it need not.
  target_compile_options(heed_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1000000>)
endif()
set(HEED_UNITY_BATCH ${batch} CACHE STRING "How many files of a folder are compiled together at most, 0 for all")

# The fastest linker that is there and that the compiler can drive.
include(CheckLinkerFlag)
foreach(linker IN ITEMS mold lld)
  check_linker_flag(CXX "-fuse-ld=${linker}" HEED_LINKS_WITH_${linker})
  if(HEED_LINKS_WITH_${linker})
    add_link_options("-fuse-ld=${linker}")
    break()
  endif()
endforeach()
