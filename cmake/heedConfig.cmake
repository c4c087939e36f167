# find_package(heed): the target heed::api, its headers <heed/...>, and all that it links.
include("${CMAKE_CURRENT_LIST_DIR}/HeedDependencies.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/heedTargets.cmake")
