# heed_python: the Python module, where pybind11 and Python's headers are there to build it with.

set(HEED_PYTHON_MODULE AUTO CACHE STRING "Build the Python module: AUTO (where pybind11 is found), ON or OFF")
set_property(CACHE HEED_PYTHON_MODULE PROPERTY STRINGS AUTO ON OFF)
if(HEED_PYTHON_MODULE STREQUAL "OFF" OR HEED_SANITIZE)
  return()
endif()
# The Python that imports the module. Cross-compiled, it is the other processor's, emulated, which knows the module's
# suffix. It is started as if it were a virtual environment's, so that a program finds at sys.executable what it can
# start again.
set(HEED_MODULE_PYTHON "${HEED_PYTHON}")
if(CMAKE_CROSSCOMPILING)
  set(environment "${PROJECT_BINARY_DIR}/python_emulated")
  set(HEED_MODULE_PYTHON "${environment}/bin/python3")
  list(JOIN CMAKE_CROSSCOMPILING_EMULATOR "\" \"" emulator)
  file(CONFIGURE OUTPUT "${environment}/pyvenv.cfg" @ONLY CONTENT
    "home = @CMAKE_SYSROOT@/usr/bin\ninclude-system-site-packages = true\n")
  file(CONFIGURE OUTPUT "${HEED_MODULE_PYTHON}" @ONLY CONTENT
    "#!/bin/sh\nexec \"@emulator@\" -0 \"$0\" \"@CMAKE_SYSROOT@/usr/bin/python3\" \"$@\"\n")
  file(CHMOD "${HEED_MODULE_PYTHON}" FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  # CMake does not ask an interpreter for headers when it cross-compiles.
  execute_process(COMMAND "${HEED_MODULE_PYTHON}" -c "import sysconfig; print(sysconfig.get_path('include'))"
    OUTPUT_VARIABLE Python_INCLUDE_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(Python_EXECUTABLE "${HEED_MODULE_PYTHON}")
find_package(Python QUIET COMPONENTS Interpreter Development.Module)
if(Python_FOUND)
  find_package(pybind11 2.10 QUIET CONFIG)
endif()
if(NOT pybind11_FOUND)
  if(HEED_PYTHON_MODULE STREQUAL "ON")
    message(FATAL_ERROR "HEED_PYTHON_MODULE is ON, but pybind11 or Python's headers are missing (Debian's packages are "
                        "pybind11-dev and python3-dev)")
  endif()
  message(STATUS "heed: built without its Python module (Debian's packages are pybind11-dev and python3-dev)")
  return()
endif()
add_subdirectory(bindings/python)
