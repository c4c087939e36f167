# heed_show_build(<target>): adds what src/cli/output/build.h promises.
#
# Run as a script, this file writes that source, and leaves it alone where it says the same already, so that one small
# file is compiled after a commit:
#   cmake -DSOURCE=<repository> -DBUILD=<how> -DOUTPUT=<file.cpp> -P HeedBuild.cmake
# The commit is "unknown" outside of a repository of heed's own, as in an archive, and without git.

if(CMAKE_SCRIPT_MODE_FILE)
  cmake_minimum_required(VERSION 3.25)
  function(git result)
    set(${result} "" PARENT_SCOPE)
    find_program(git_program git)
    if(git_program)
      execute_process(COMMAND "${git_program}" --no-optional-locks -C "${SOURCE}" ${ARGN}
        OUTPUT_VARIABLE text RESULT_VARIABLE status ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
      if(status EQUAL 0)
        set(${result} "${text}" PARENT_SCOPE)
      endif()
    endif()
  endfunction()

  set(commit "unknown")
  git(top rev-parse --show-toplevel)
  file(REAL_PATH "${SOURCE}" source)
  if(top STREQUAL source)
    git(commit rev-parse --short=12 HEAD)
    git(changes status --porcelain --untracked-files=no)
    if(changes)
      string(APPEND commit " with changes")
    endif()
  endif()
  file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT "#include \"cli/output/build.h\"

namespace heed::cli {

std::string_view build() { return \"commit ${commit}\\n${BUILD}\"; }

}  // namespace heed::cli
")
  return()
endif()

set(HEED_BUILD_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(heed_show_build target)
  set(compiler "${CMAKE_CXX_COMPILER_ID}")
  if(compiler STREQUAL "GNU")
    set(compiler "GCC")
  endif()
  heed_kernel_names(kernels)
  set(build "${compiler} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}, kernels for ${kernels}")
  set(output "${PROJECT_BINARY_DIR}/build_info.cpp")
  # A target and not a command: nothing tells beforehand whether the commit has changed.
  add_custom_target(heed_build
    COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DBUILD=${build}" "-DOUTPUT=${output}"
      -P "${HEED_BUILD_SCRIPT}"
    BYPRODUCTS "${output}"
    COMMENT "Asking for the commit"
    VERBATIM)
  add_dependencies(${target} heed_build)
  # Compiled alone, so that nothing else is compiled with it.
  set_source_files_properties("${output}" PROPERTIES GENERATED ON SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${output}")
endfunction()
