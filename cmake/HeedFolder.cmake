# heed_folder(<folder> [LEAF] [DEPENDS <folder>...] [LINK <library>...] [LINK_PUBLIC <library>...])
#
# Makes one target of one folder of src/: all .cpp files in it and in its subfolders, except those that have a call of
# their own. A folder without sources becomes an interface library, which passes on what it depends on. The target's
# name is heed_ and the folder's last component, except `cli`, which is the program itself.
#
#   LEAF         for the program alone: not installed
#   DEPENDS      folders that are declared above this one
#   LINK         libraries that only the sources use
#   LINK_PUBLIC  libraries that the headers name too
#
# tools/check_floors.py reads the calls of this function; keep the arguments literal.
function(heed_folder folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LEAF" "" "DEPENDS;LINK;LINK_PUBLIC")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "heed_folder(${folder}): not understood: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  set_property(GLOBAL PROPERTY heed_leaf_${folder} ${arg_LEAF})

  set(links "")
  get_property(declared GLOBAL PROPERTY heed_folders)
  foreach(dependency IN LISTS arg_DEPENDS)
    if(NOT dependency IN_LIST declared)
      message(FATAL_ERROR "heed_folder(${folder}): DEPENDS names '${dependency}', which is not declared above it")
    endif()
    heed_target_name(target "${dependency}")
    list(APPEND links ${target})
  endforeach()

  heed_files(sources "${PROJECT_SOURCE_DIR}/src" "${folder}")
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
      set_target_properties(${target} PROPERTIES UNITY_BUILD ${HEED_UNITY} UNITY_BUILD_BATCH_SIZE ${HEED_UNITY_BATCH})
      heed_compile_fast(${target})
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
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HEED_UNITY} UNITY_BUILD_BATCH_SIZE ${HEED_UNITY_BATCH})
  if(folder MATCHES "^(command_line|api|report|plan|propose|tune)$")
    heed_compile_fast(${target})
  endif()
  # Kernels have options of their own, and bench has OpenMP's: what was parsed with others can't be used there.
  if(NOT folder MATCHES "^(kernels/cpu|bench)$")
    heed_precompile(${target})
  endif()
  if(folder STREQUAL "kernels/cpu")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O3>)
    if(HEED_X86_64)
      # Highway compiles for SSE4, AVX2 and AVX-512. Its own default adds SSSE3 and, with GCC 12, plain scalars, whose
      # vectors of one lane lack operations.
      target_compile_definitions(${target} PUBLIC HWY_BASELINE_TARGETS=HWY_SSE4)
      heed_highway_limit(limit)
      target_compile_definitions(${target} PUBLIC ${limit})
    elseif(HEED_ARM64)
      # NEON alone: kernels keep vectors in arrays, which SVE's, of a size that nobody knows, can't be.
      target_compile_definitions(${target} PUBLIC
        "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
      # GCC would move loads ahead until sums no longer fit in the registers.
      target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-schedule-insns>)
    endif()
  endif()
endfunction()

# For what runs once and waits for others: built in three quarters of the time that -O2 takes.
function(heed_compile_fast target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

function(heed_target_name result folder)
  get_filename_component(name "${folder}" NAME)
  if(folder STREQUAL "cli")
    set(${result} heed PARENT_SCOPE)
  else()
    set(${result} heed_${name} PARENT_SCOPE)
  endif()
endfunction()

# The .cpp files of `folder` under `top` (src/ or tests/) and of its subfolders, but for those with a heed_folder() of
# their own.
function(heed_files result top folder)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${top}/${folder}/*.cpp")
  file(STRINGS "${PROJECT_SOURCE_DIR}/src/CMakeLists.txt" calls REGEX "^heed_folder\\(${folder}/")
  foreach(call IN LISTS calls)
    string(REGEX REPLACE "^heed_folder\\(([^ )]*).*" "\\1" inner "${call}")
    list(FILTER files EXCLUDE REGEX "/${inner}/")
  endforeach()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

# The libraries of a folder, of what lies in it, and of all folders declared above it, for tests and benchmarks. Of
# every folder, if none is named.
function(heed_targets_up_to result folder)
  get_property(folders GLOBAL PROPERTY heed_folders)
  set(targets "")
  set(is_above TRUE)
  foreach(candidate IN LISTS folders)
    if(is_above OR candidate MATCHES "^${folder}/")
      heed_target_name(target "${candidate}")
      list(PREPEND targets ${target})
    endif()
    if(candidate STREQUAL folder)
      set(is_above FALSE)
    endif()
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# Files named for an instruction set are compiled for it, and left out on other processors. Everything else is compiled
# for the processor family's baseline: the binary runs on any of them and picks its kernels at run time.
function(heed_source_flags sources_name)
  set(avx2 -mavx2 -mfma)
  set(avxvnni ${avx2} -mf16c -mavxvnni)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
  set(avx512bf16 ${avx512} -mavx512bf16)
  set(avx512vnni ${avx512} -mavx512vnni)
  set(neondotprod -march=armv8.2-a+dotprod)
  set(neoni8mm -march=armv8.2-a+dotprod+i8mm)
  set(neonbf16 -march=armv8.2-a+bf16)
  set(kept "")
  foreach(source IN LISTS ${sources_name})
    if(source MATCHES "_(avx2|avxvnni|avx512|avx512bf16|avx512vnni|neondotprod|neoni8mm|neonbf16)\\.cpp$")
      set(set_name ${CMAKE_MATCH_1})
      if((set_name MATCHES "^avx" AND NOT HEED_X86_64) OR (set_name MATCHES "^neon" AND NOT HEED_ARM64))
        continue()
      endif()
      set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS ${${set_name}})
    endif()
    file(STRINGS "${source}" includes_itself REGEX "^ *# *define +HWY_TARGET_INCLUDE")
    if(includes_itself)
      # Once per instruction set: such a file is compiled alone.
      set_property(SOURCE "${source}" PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    list(APPEND kept "${source}")
  endforeach()
  set(${sources_name} ${kept} PARENT_SCOPE)
endfunction()

# The best of the instruction sets that kernels are compiled for.
function(heed_best_instruction_set result)
  set(best "${HEED_INSTRUCTION_SETS}")
  if(best STREQUAL "native")
    include(CheckCXXSourceRuns)
    check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"avx512bw\") ? 0 : 1; }" HEED_HAS_AVX512)
    if(HEED_HAS_AVX512)
      set(best avx512)
    else()
      set(best avx2)
    endif()
  endif()
  set(${result} "${best}" PARENT_SCOPE)
endfunction()

# All of them, in words.
function(heed_kernel_names result)
  heed_best_instruction_set(best)
  if(HEED_ARM64)
    set(${result} "NEON, dotprod, i8mm and bf16" PARENT_SCOPE)
  elseif(NOT HEED_X86_64)
    set(${result} "${CMAKE_SYSTEM_PROCESSOR}" PARENT_SCOPE)
  elseif(best STREQUAL "sse4")
    set(${result} "SSE4" PARENT_SCOPE)
  elseif(best STREQUAL "avx2")
    set(${result} "SSE4 and AVX2" PARENT_SCOPE)
  elseif(HEED_INSTRUCTION_SETS STREQUAL "native")
    set(${result} "SSE4 and AVX-512" PARENT_SCOPE)
  else()
    set(${result} "SSE4, AVX2 and AVX-512" PARENT_SCOPE)
  endif()
endfunction()

# Keeps Highway from compiling for instruction sets that are not wanted: better ones, and with "native" AVX2 on a
# processor with AVX-512. SSE4, the baseline, is always there.
function(heed_highway_limit result)
  heed_best_instruction_set(best)
  if(best STREQUAL "sse4")
    set(${result} "HWY_DISABLED_TARGETS=(HWY_AVX2|HWY_AVX3|HWY_AVX3_DL)" PARENT_SCOPE)
  elseif(best STREQUAL "avx2")
    set(${result} "HWY_DISABLED_TARGETS=(HWY_AVX3|HWY_AVX3_DL)" PARENT_SCOPE)
  elseif(HEED_INSTRUCTION_SETS STREQUAL "native")
    set(${result} "HWY_DISABLED_TARGETS=HWY_AVX2" PARENT_SCOPE)
  elseif(best STREQUAL "avx512")
    set(${result} "" PARENT_SCOPE)
  else()
    message(FATAL_ERROR "HEED_INSTRUCTION_SETS is sse4, avx2, avx512 or native, not '${best}'")
  endif()
endfunction()

# Beside HEED_SANITIZE. Options are those of the target: a file with options of its own would be left out of unity.
function(heed_sanitized_flags target folder)
  if(HEED_SANITIZE AND folder MATCHES "^(base|tensor|text|kernels|ops|nn|data|models|quant|demo)(/|$)")
    # Where the time goes when sanitized tests run; elsewhere it goes into compiling, which -O0 halves. Clang inlines
    # nothing at -O1: an element of a vector would be a call.
    target_compile_options(${target} PRIVATE $<IF:$<CXX_COMPILER_ID:Clang>,-O2,-O1>)
  endif()
  if(HEED_FUZZ AND folder MATCHES "^(base|text|eval|data|tensor_files|models|checkpoint|interchange|train|report|serve)$")
    # What the fuzzers read with: only there does a new branch mean a new input. Elsewhere, counting branches costs
    # time.
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()
