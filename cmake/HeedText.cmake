# heed_text(<target> <file> <header> <variable>): makes the text of a file part of a target, as the
# `const std::string_view <variable>` that a header of heed declares.
function(heed_text target file header variable)
  # No text of ours holds the delimiter; a raw string ends at the first `)` with it.
  file(READ "${file}" text)
  string(FIND "${text}" ")heed_text\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${file} holds what a raw string would end at: )heed_text\"")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  set(output "${PROJECT_BINARY_DIR}/${variable}.cpp")
  file(CONFIGURE OUTPUT "${output}" @ONLY CONTENT "#include \"@header@\"

const std::string_view heed::@variable@ = R\"heed_text(@text@)heed_text\";
")
  set_property(SOURCE "${output}" PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${output}")
endfunction()
