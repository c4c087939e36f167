# What `heed serve` links beside heed's libraries: Boost.Asio and Boost.Beast, of which only headers are used.

find_package(Boost 1.81 REQUIRED)
add_library(heed_boost INTERFACE)
add_library(heed::boost ALIAS heed_boost)
target_link_libraries(heed_boost INTERFACE Boost::headers)
target_compile_definitions(heed_boost INTERFACE BOOST_ASIO_NO_DEPRECATED)
