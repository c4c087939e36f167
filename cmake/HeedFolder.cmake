# heed_folder(<folder> FLOOR <n> [LEAF] [DEPENDS <folder>...] [LINK <library>...] [LINK_PUBLIC <library>...])
#
# Makes one target of one folder of src/: all its .cpp files, not those of its subfolders. A folder without sources
# becomes an interface library, which passes on what it depends on. The target's name is heed_ and the folder's last
# component, except `cli`, which is the program itself.
#
#   LEAF         for the program alone: not installed
#   DEPENDS      folders on lower floors, or the folder that this one lies in
#   LINK         libraries that only the sources use
#   LINK_PUBLIC  libraries that the headers name too
#
# tools/check_floors.py reads the calls of this function; keep the arguments literal.
function(heed_folder folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LEAF" "FLOOR" "DEPENDS;LINK;LINK_PUBLIC")
  if(NOT arg_FLOOR MATCHES "^[0-9]+$" OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "heed_folder(${folder}): FLOOR needs a number; not understood: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  set_property(GLOBAL PROPERTY heed_floor_${folder} ${arg_FLOOR})
  set_property(GLOBAL PROPERTY heed_leaf_${folder} ${arg_LEAF})
  get_filename_component(parent "${folder}" DIRECTORY)

  set(links "")
  foreach(dependency IN LISTS arg_DEPENDS)
    get_property(floor GLOBAL PROPERTY heed_floor_${dependency})
    if("${floor}" STREQUAL "")
      message(FATAL_ERROR "heed_folder(${folder}): DEPENDS names '${dependency}', which is not declared above it")
    elseif(floor GREATER_EQUAL arg_FLOOR AND NOT dependency STREQUAL parent)
      message(FATAL_ERROR "heed_folder(${folder}): floor ${arg_FLOOR} cannot depend on ${dependency}, floor ${floor}")
    endif()
    heed_target_name(target "${dependency}")
    list(APPEND links ${target})
  endforeach()

  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp")
  heed_source_flags(sources)
  heed_target_name(target "${folder}")
  set(public "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:include>")
  set(internal "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>" ${public})

  if(folder STREQUAL "cli")
    if(sources)
      add_executable(${target} ${sources})
      set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
      target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
      target_link_libraries(${target} PRIVATE ${links} ${arg_LINK} heed_flags)
      set_target_properties(${target} PROPERTIES UNITY_BUILD ${HEED_UNITY} UNITY_BUILD_BATCH_SIZE 16)
    endif()
    return()
  endif()

  set_property(GLOBAL APPEND PROPERTY heed_folders "${folder}")
  if(NOT sources)
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE "${internal}")
    target_link_libraries(${target} INTERFACE ${links} ${arg_LINK} ${arg_LINK_PUBLIC})
    return()
  endif()
  add_library(${target} STATIC ${sources})
  target_link_libraries(${target} PUBLIC ${arg_LINK_PUBLIC} PRIVATE ${arg_LINK} $<BUILD_INTERFACE:heed_flags>)
  if(folder STREQUAL "api")
    # The API hides what it stands on: whoever links it sees include/ alone.
    target_include_directories(${target} PUBLIC ${public} PRIVATE "${internal}")
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_link_libraries(${target} PRIVATE ${links})
  else()
    target_include_directories(${target} PUBLIC "${internal}")
    target_link_libraries(${target} PUBLIC ${links})
  endif()
  heed_sanitized_flags(${target} "${folder}")
  # Kernels stay alone: each includes itself once per instruction set.
  if(HEED_UNITY AND NOT folder STREQUAL "kernels/cpu")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
  if(folder STREQUAL "kernels/cpu" AND HEED_X86_64)
    # Highway compiles for SSE4, AVX2 and AVX-512. Its own default adds SSSE3 and, with GCC 12, plain scalars, whose
    # vectors of one lane lack operations.
    target_compile_definitions(${target} PUBLIC HWY_BASELINE_TARGETS=HWY_SSE4)
  endif()
endfunction()

function(heed_target_name result folder)
  get_filename_component(name "${folder}" NAME)
  if(folder STREQUAL "cli")
    set(${result} heed PARENT_SCOPE)
  else()
    set(${result} heed_${name} PARENT_SCOPE)
  endif()
endfunction()

# Every folder's library on a floor up to `floor`, for tests and benchmarks. Of the floor itself only `folder`, what
# lies in it, and what it lies in.
function(heed_targets_up_to result floor folder)
  get_property(folders GLOBAL PROPERTY heed_folders)
  string(REGEX REPLACE "/.*" "" top "${folder}")
  set(targets "")
  foreach(candidate IN LISTS folders)
    get_property(candidate_floor GLOBAL PROPERTY heed_floor_${candidate})
    string(REGEX REPLACE "/.*" "" candidate_top "${candidate}")
    if(candidate_floor LESS floor OR candidate_top STREQUAL top)
      heed_target_name(target "${candidate}")
      list(PREPEND targets ${target})
    endif()
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# Files named for an instruction set are compiled for it, and left out on other processors. Everything else is compiled
# for the processor family's baseline: the binary runs on any of them and picks its kernels at run time.
function(heed_source_flags sources_name)
  set(avx2 -mavx2 -mfma)
  set(avxvnni ${avx2} -mavxvnni)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
  set(avx512bf16 ${avx512} -mavx512bf16)
  set(avx512vnni ${avx512} -mavx512vnni)
  set(kept "")
  foreach(source IN LISTS ${sources_name})
    if(source MATCHES "_(avx2|avxvnni|avx512|avx512bf16|avx512vnni)\\.cpp$")
      set(set_name ${CMAKE_MATCH_1})
      if(NOT HEED_X86_64)
        continue()
      endif()
      set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS ${${set_name}})
    endif()
    if(source MATCHES "/src/kernels/cpu/")
      set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
    endif()
    list(APPEND kept "${source}")
  endforeach()
  set(${sources_name} ${kept} PARENT_SCOPE)
endfunction()

# Beside HEED_SANITIZE. Options are those of the target: a file with options of its own would be left out of unity.
function(heed_sanitized_flags target folder)
  if(HEED_SANITIZE AND folder MATCHES "^(base|tensor|text|kernels|ops|nn|data|models|demo)(/|$)")
    # Where the time goes when sanitized tests run; elsewhere it goes into compiling, which -O0 halves. Clang inlines
    # nothing at -O1: an element of a vector would be a call.
    target_compile_options(${target} PRIVATE $<IF:$<CXX_COMPILER_ID:Clang>,-O2,-O1>)
  endif()
  if(HEED_FUZZ AND folder MATCHES "^(base|text|eval|data|models|checkpoint|train|report)$")
    # What the fuzzers read with: only there does a new branch mean a new input. Elsewhere, counting branches costs time.
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()
