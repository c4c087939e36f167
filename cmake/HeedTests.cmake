# Functions that tests/CMakeLists.txt registers tests with.
#
# Labels: `slow` and `threads` come from a test file's name (*_slow_test.cpp, test_*_slow.py, *_threads_test.cpp);
# `cli`, `parity` and `compile_fail` from the folder; `source` marks checks of the sources themselves, which need no
# build.

include(GoogleTest)

# Tests that take long begin first, so that no processor waits for the last of them: slow scripts and all trainings as
# one, then scripts, other programs as a whole and fuzzers, then single tests.
set(heed_cost_of_slow 500)
set(heed_cost_of_many 100)

# Tests that draw or count so much that they take ten times as long as their neighbours, and meet nothing that these do
# not: sanitized builds leave them out.
set(heed_tests_of_fast_builds
  ChatTemplateLimits.LoopsInLoopsEndAtTheLimitOfSteps
  ChatTemplateLimits.TextsThatGrowEndAtTheLimitOfBytes
  JsonSchema.BoundsHoldForEachNumber
  RecipeOverrides.ReachEveryKey
  Sampling.TheNucleusOfALargeVocabularyHasTheFirstOfEqualTokens
  Speculation.TextsAreDistributedAsTheModelAndTheOptionsSay)

# heed_time_limit(<result> <seconds>): the time limit of a test; emulated, fifteen times as long.
function(heed_time_limit result seconds)
  if(CMAKE_CROSSCOMPILING)
    math(EXPR seconds "${seconds} * 15")
  endif()
  set(${result} ${seconds} PARENT_SCOPE)
endfunction()

# heed_folder_tests(<folder> [<source>...]): the *_test.cpp of tests/<folder>/ and its subfolders, and other sources,
# one program per label, linked with the folder and all that are declared above it. Other .cpp files there are helpers
# and belong to each of the programs.
function(heed_folder_tests folder)
  heed_files(helpers "${CMAKE_CURRENT_SOURCE_DIR}" "${folder}")
  list(APPEND helpers ${ARGN})
  set(tests ${helpers})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER helpers EXCLUDE REGEX "_test\\.cpp$")
  set(slow ${tests})
  list(FILTER slow INCLUDE REGEX "_slow_test\\.cpp$")
  set(threads ${tests})
  list(FILTER threads INCLUDE REGEX "_threads_test\\.cpp$")
  list(FILTER tests EXCLUDE REGEX "_(slow|threads)_test\\.cpp$")

  get_filename_component(name "${folder}" NAME)
  heed_test_program("${folder}" heed_${name}_test "" 120 ${tests} ${helpers})
  heed_test_program("${folder}" heed_${name}_slow_test "slow" 600 ${slow} ${helpers})
  heed_test_program("${folder}" heed_${name}_threads_test "threads" 300 ${threads} ${helpers})
endfunction()

function(heed_test_program folder target label timeout)
  set(sources ${ARGN})
  if(NOT "${sources}" MATCHES "_test\\.cpp")
    return()
  endif()
  heed_targets_up_to(libraries "${folder}")
  add_executable(${target} ${sources})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HEED_UNITY} UNITY_BUILD_BATCH_SIZE ${HEED_UNITY_BATCH})
  heed_use_test_settings(${target})
  target_link_libraries(${target} PRIVATE ${libraries} GTest::gmock_main GTest::gmock GTest::gtest)
  heed_precompile(${target} GTest)
  if(label)
    add_dependencies(heed_${label}_tests ${target})
  endif()
  if(HEED_SANITIZE AND label STREQUAL "slow")
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  heed_time_limit(timeout ${timeout})
  if(HEED_SANITIZE)
    set(timeout 900)  # of all together
  elseif(CMAKE_CROSSCOMPILING AND NOT folder STREQUAL "kernels/cpu")
    set(timeout 7200)
  endif()
  # Slow tests run in one process, since they share what they make; so do all of a sanitized or emulated program, which
  # takes longer to start than most tests. Emulated kernels take so long that they run one by one.
  if(label STREQUAL "slow" OR HEED_SANITIZE OR (CMAKE_CROSSCOMPILING AND NOT folder STREQUAL "kernels/cpu"))
    set(name ${folder}.${label})
    if(NOT label)
      set(name ${folder}.all)
    endif()
    heed_test_of_program(${name} ${target} ${timeout} "${label}")
    return()
  endif()
  gtest_discover_tests(${target}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    TEST_PREFIX "${folder}."
    PROPERTIES TIMEOUT ${timeout} LABELS "${label}")
endfunction()

# All tests of a program as one.
function(heed_test_of_program name target timeout label)
  set(filter "")
  if(HEED_SANITIZE)
    list(JOIN heed_tests_of_fast_builds ":" filter)
    set(filter "--gtest_filter=-${filter}")
  endif()
  set(cost ${heed_cost_of_many})
  if(name STREQUAL "train.all")
    set(cost ${heed_cost_of_slow})
  endif()
  add_test(NAME ${name} COMMAND ${target} --gtest_brief=1 ${filter})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} LABELS "${label}" COST ${cost})
endfunction()

# tests/source_root.h. Of all objects only this one names the place where the repository lies: the others can be shared
# between several checkouts by a compiler cache.
add_library(heed_source_root OBJECT "${PROJECT_SOURCE_DIR}/tests/source_root.cpp")
target_compile_definitions(heed_source_root PRIVATE "HEED_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
target_link_libraries(heed_source_root PRIVATE heed_flags)

# Include roots: src/, include/ and tests/ (for helpers of another folder).
function(heed_use_test_settings target)
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/tests")
  # A test's own code is short-lived: it is built in three quarters of the time that -O2 takes.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_link_libraries(${target} PRIVATE heed_source_root heed_flags)
endfunction()

# heed_fuzzer(<name> SEEDS <file>...)
#
# tests/fuzz/<folder>/<name>_fuzzer.cpp with libFuzzer, which comes with Clang. The test ends after as many inputs or
# seconds as CI has time for; by hand, without those limits, the program goes on until something breaks.
function(heed_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SEEDS")
  set(target heed_${name}_fuzzer)
  file(GLOB source "${CMAKE_CURRENT_SOURCE_DIR}/fuzz/*/${name}_fuzzer.cpp")
  add_executable(${target} ${source})
  heed_use_test_settings(${target})
  target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  heed_precompile(${target})
  heed_targets_up_to(libraries "")
  target_link_libraries(${target} PRIVATE ${libraries} nlohmann_json::nlohmann_json)
  list(JOIN arg_SEEDS "," seeds)
  add_test(NAME fuzz.${name} COMMAND ${target} -seed=1 -runs=20000 -max_total_time=1 -max_len=50000 -timeout=20
    -rss_limit_mb=2048 "-seed_inputs=${seeds}")
  set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 120 LABELS fuzz COST ${heed_cost_of_many})
endfunction()

# heed_runnable(<result> <target>): the path at which scripts can run a program: its own, or that of a script beside it
# that emulates the processor.
function(heed_runnable result target)
  if(NOT CMAKE_CROSSCOMPILING)
    set(${result} "$<TARGET_FILE:${target}>" PARENT_SCOPE)
    return()
  endif()
  set(path "${PROJECT_BINARY_DIR}/${target}_emulated")
  get_property(written GLOBAL PROPERTY heed_emulated_${target})
  if(NOT written)
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR "\" \"" emulator)
    file(GENERATE OUTPUT "${path}" CONTENT "#!/bin/sh\nexec \"${emulator}\" \"$<TARGET_FILE:${target}>\" \"$@\"\n"
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
    set_property(GLOBAL PROPERTY heed_emulated_${target} ON)
  endif()
  set(${result} "${path}" PARENT_SCOPE)
endfunction()

# heed_script_test(<name> <script> [PYTHON <program>] [LABEL <label>] [TIMEOUT <seconds>] [ENVIRONMENT <VAR=value>...]
#                  [ARGS <argument>...])
#
# Runs a .py or .sh file. It finds the built programs through HEED_BINARY, HEED_MAKE_MODEL and HEED_PARITY_DRIVER, and
# the repository through HEED_SOURCE_DIR; exit status 77 means skipped.
function(heed_script_test name script)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "PYTHON;LABEL;TIMEOUT" "ENVIRONMENT;ARGS")
  if(arg_PYTHON)
    set(interpreter "${arg_PYTHON}")
  elseif(script MATCHES "\\.py$")
    set(interpreter "${HEED_PYTHON}")
  else()
    set(interpreter bash)
  endif()
  add_test(NAME ${name} COMMAND ${interpreter} "${script}" ${arg_ARGS})
  set(environment "HEED_SOURCE_DIR=${PROJECT_SOURCE_DIR}" "PYTHONDONTWRITEBYTECODE=1"
    "PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/cli/support" ${arg_ENVIRONMENT})
  if(TARGET heed)
    heed_runnable(path heed)
    list(APPEND environment "HEED_BINARY=${path}")
  endif()
  if(TARGET heed_make_model)
    heed_runnable(path heed_make_model)
    list(APPEND environment "HEED_MAKE_MODEL=${path}")
  endif()
  if(TARGET heed_rank_actions)
    heed_runnable(path heed_rank_actions)
    list(APPEND environment "HEED_RANK_ACTIONS=${path}")
  endif()
  if(TARGET heed_parity_driver)
    heed_runnable(path heed_parity_driver)
    list(APPEND environment "HEED_PARITY_DRIVER=${path}")
  endif()
  set(cost ${heed_cost_of_many})
  if(slow IN_LIST arg_LABEL)
    set(cost ${heed_cost_of_slow})
  endif()
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}" SKIP_RETURN_CODE 77 LABELS "${arg_LABEL}"
    COST ${cost})
  if(arg_TIMEOUT)
    heed_time_limit(timeout ${arg_TIMEOUT})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout})
  endif()
endfunction()
