# Cross-compiles for 64-bit ARM with Debian's g++-aarch64-linux-gnu, against the folder that tools/arm64_sysroot makes,
# and runs what it built under qemu-user. HEED_ARM64_SYSROOT names the folder. When tests run, the environment variable
# QEMU_CPU names the processor: cortex-a72, neoverse-n1 (which has dot products), or max, the default, with everything.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HEED_ARM64_SYSROOT)

set(HEED_ARM64_SYSROOT "${CMAKE_BINARY_DIR}/sysroot" CACHE PATH "arm64 libraries and headers: tools/arm64_sysroot")
if(NOT EXISTS "${HEED_ARM64_SYSROOT}/complete")
  message(FATAL_ERROR "no arm64 libraries in ${HEED_ARM64_SYSROOT}; make them with tools/arm64_sysroot FOLDER")
endif()

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)  # for examples in C, which tests compile
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT "${HEED_ARM64_SYSROOT}")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L "${HEED_ARM64_SYSROOT}")

set(CMAKE_FIND_ROOT_PATH "${HEED_ARM64_SYSROOT}")
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${HEED_ARM64_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR}
  "${HEED_ARM64_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${HEED_ARM64_SYSROOT}/usr/share/pkgconfig")
