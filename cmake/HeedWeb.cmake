# heed_build_in(<target>): makes the files of web/ part of a target, as what src/report/web_assets.h promises.
#
# Run as a script, this file writes that source:
#   cmake -DFOLDER=<web/> -DFILES=<path>,... -DOUTPUT=<file.cpp> -P HeedWeb.cmake
# It needs CMake alone.

if(CMAKE_SCRIPT_MODE_FILE)
  # No file of ours holds this; a raw string ends at the first `)` with it.
  set(delimiter "heed_web_asset")
  string(REPLACE "," ";" files "${FILES}")
  set(entries "")
  foreach(path IN LISTS files)
    file(READ "${FOLDER}/${path}" text)
    string(FIND "${text}" ")${delimiter}\"" end)
    if(NOT end EQUAL -1)
      message(FATAL_ERROR "${path} holds what a raw string would end at: )${delimiter}\"")
    endif()
    string(APPEND entries "    {\"${path}\", R\"${delimiter}(${text})${delimiter}\"},\n")
  endforeach()
  file(WRITE "${OUTPUT}" "#include \"report/web_assets.h\"

namespace heed {
namespace {

const WebAsset kAssets[] = {
${entries}};

}  // namespace

std::span<const WebAsset> web_assets() { return kAssets; }

}  // namespace heed
")
  return()
endif()

set(HEED_WEB_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(heed_build_in target)
  set(folder "${PROJECT_SOURCE_DIR}/web")
  file(GLOB_RECURSE files RELATIVE "${folder}" CONFIGURE_DEPENDS "${folder}/*.js" "${folder}/*.css" "${folder}/*.html")
  list(SORT files)
  list(TRANSFORM files PREPEND "${folder}/" OUTPUT_VARIABLE sources)
  list(JOIN files "," names)
  set(output "${PROJECT_BINARY_DIR}/web_assets.cpp")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${folder}" "-DFILES=${names}" "-DOUTPUT=${output}" -P "${HEED_WEB_SCRIPT}"
    DEPENDS ${sources} "${HEED_WEB_SCRIPT}"
    COMMENT "Building in web/"
    VERBATIM)
  # Compiled alone: tools/tidy, which never makes this file, could not read those that are compiled with it.
  set_property(SOURCE "${output}" PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${output}")
endfunction()
