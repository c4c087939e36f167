# heed_precompile(<target> [GTest]): gives a target the headers that nearly all sources include, with GTest those of
# tests too, already parsed. Parsing them for each unit is a tenth of a cold build.
#
# Targets of the same kind (program or library) and with the same options share them, since compilers refuse what was
# parsed with others; so the target's options must be set before. They are parsed in a target of their own, which has
# fewer definitions than any that uses them: one that is missing there would be refused, too.
function(heed_precompile target)
  if(NOT HEED_PRECOMPILED)
    return()
  endif()
  get_target_property(options ${target} COMPILE_OPTIONS)
  get_target_property(type ${target} TYPE)
  if(NOT options)
    set(options "")
  endif()
  # A program that counts branches needs the fuzzer's runtime, or a sanitizer's, which the one below would not have.
  if(type STREQUAL "EXECUTABLE" AND "-fsanitize=fuzzer-no-link" IN_LIST options AND NOT HEED_SANITIZE)
    return()
  endif()
  string(SHA256 variant "${options} ${ARGN} ${type}")
  string(SUBSTRING "${variant}" 0 8 variant)
  set(precompiled heed_precompiled_${variant})
  if(NOT TARGET ${precompiled})
    set(source "${PROJECT_BINARY_DIR}/${precompiled}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "int main() {}\n")
    if(type STREQUAL "EXECUTABLE")
      add_executable(${precompiled} "${source}")
    else()
      add_library(${precompiled} OBJECT "${source}")
    endif()
    target_compile_options(${precompiled} PRIVATE ${options})
    target_link_libraries(${precompiled} PRIVATE fmt::fmt heed_flags)
    set(headers
      <fmt/format.h> <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <deque>
      <filesystem> <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <random> <set> <span> <string>
      <string_view> <thread> <unordered_map> <unordered_set> <utility> <variant> <vector>)
    if("GTest" IN_LIST ARGN)
      list(PREPEND headers <gtest/gtest.h> <gmock/gmock.h>)
      target_link_libraries(${precompiled} PRIVATE GTest::gmock GTest::gtest)
    endif()
    target_precompile_headers(${precompiled} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()
