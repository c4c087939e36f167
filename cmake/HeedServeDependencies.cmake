# What `heed serve` links beside heed's libraries: Boost.Asio and Boost.Beast, of which only headers are used, and OpenSSL
# for TLS.

find_package(Boost 1.81 REQUIRED)
find_package(OpenSSL REQUIRED)
add_library(heed_boost INTERFACE)
add_library(heed::boost ALIAS heed_boost)
target_link_libraries(heed_boost INTERFACE Boost::headers OpenSSL::SSL)
# One thread runs the loop, so its handlers need no fences, which the thread sanitizer does not know.
target_compile_definitions(heed_boost INTERFACE BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_FENCED_BLOCK)
