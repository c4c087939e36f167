// How this program was built. The source is written when it is built (cmake/HeedBuild.cmake).
#pragma once

#include <string_view>

namespace heed::cli {

// "commit 1a2b3c4d5e6f\nGCC 12.2.0, Release, kernels for SSE4, AVX2 and AVX-512"
std::string_view build();

}  // namespace heed::cli
