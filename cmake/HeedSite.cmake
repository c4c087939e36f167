# The pages as a site: `cmake --build build --target site` writes build/site, which a package holds.

set(site "${PROJECT_BINARY_DIR}/site")
set(make_site "${HEED_PYTHON}" "${PROJECT_SOURCE_DIR}/tools/make_site.py" "${site}")
if(TARGET heed AND NOT CMAKE_CROSSCOMPILING)
  list(APPEND make_site --program "$<TARGET_FILE:heed>")
endif()
add_custom_target(site COMMAND "${CMAKE_COMMAND}" -E rm -rf "${site}" COMMAND ${make_site} VERBATIM)
if(TARGET heed)
  add_dependencies(site heed)
endif()

# Only packages contain it: a plain `cmake --install` does not write it.
install(CODE "file(REMOVE_RECURSE \"${site}\")
  execute_process(COMMAND \"$<JOIN:${make_site},\" \">\" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT documentation EXCLUDE_FROM_ALL)
install(DIRECTORY "${site}/" DESTINATION share/doc/heed/html COMPONENT documentation EXCLUDE_FROM_ALL)
