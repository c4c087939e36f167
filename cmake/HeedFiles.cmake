# heed_built_in_files(<target> <folder> <header> <function>): makes the files of a folder part of a target, as what
# `std::span<const BuiltInFile> <function>()` of a header gives.
#
# Run as a script, this file writes that source:
#   cmake -DFOLDER=<folder> -DHEADER=<header> -DFUNCTION=<function> -DOUTPUT=<file.cpp> -P HeedFiles.cmake

if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB files RELATIVE "${FOLDER}" "${FOLDER}/*")
  set(arrays "")
  set(entries "")
  set(number 0)
  foreach(name IN LISTS files)
    file(READ "${FOLDER}/${name}" bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "const unsigned char kFile${number}[] = {${bytes}};\n")
    string(APPEND entries
      "    {\"${name}\", {reinterpret_cast<const char*>(kFile${number}), sizeof(kFile${number})}},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  file(WRITE "${OUTPUT}" "#include \"${HEADER}\"

namespace heed {
namespace {

${arrays}
const BuiltInFile kFiles[] = {
${entries}};

}  // namespace

std::span<const BuiltInFile> ${FUNCTION}() { return kFiles; }

}  // namespace heed
")
  return()
endif()

set(HEED_FILES_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(heed_built_in_files target folder header function)
  file(GLOB files CONFIGURE_DEPENDS "${folder}/*")
  set(output "${PROJECT_BINARY_DIR}/${function}.cpp")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${folder}" "-DHEADER=${header}" "-DFUNCTION=${function}" "-DOUTPUT=${output}"
      -P "${HEED_FILES_SCRIPT}"
    DEPENDS ${files} "${HEED_FILES_SCRIPT}"
    COMMENT "Building in ${folder}"
    VERBATIM)
  set_property(SOURCE "${output}" PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${output}")
endfunction()
