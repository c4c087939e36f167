#include "kernels/devices/cuda_plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/errors.h"
#include "kernels/devices/plugin.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCudaLibrary = "libheed_cuda.so";

std::vector<fs::path> paths_of_cuda_library() {
  if (const char* named = std::getenv("HEED_CUDA"); named != nullptr && *named != '\0') {
    return {named};
  }
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {folder / kCudaLibrary, folder.parent_path() / "lib" / "heed" / kCudaLibrary};
}

HeedCudaFunction load_cuda_library() {
  for (const fs::path& path : paths_of_cuda_library()) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      continue;
    }
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* why = dlerror();
      fail<ConfigError>("cuda", "heed's part for NVIDIA GPUs cannot be loaded: {}",
                        why != nullptr ? why : path.c_str());
    }
    const auto function = reinterpret_cast<HeedCudaFunction>(dlsym(library, kHeedCudaName));
    require<ConfigError>(function != nullptr, "cuda", "{} is not heed's part for NVIDIA GPUs", path.string());
    return function;
  }
  fail<ConfigError>(
      "cuda",
      "this heed has no part for NVIDIA GPUs ({} is not there); build it where nvcc is installed, or name "
      "the file in HEED_CUDA",
      paths_of_cuda_library().front().string());
}

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(int device) {
  static const HeedCudaFunction kMake = load_cuda_library();
  std::unique_ptr<Backend> backend(kMake(kHeedInterface, device));
  require<ConfigError>(backend != nullptr, "cuda",
                       "the part for NVIDIA GPUs belongs to another build of heed; build and install both together");
  return backend;
}

}  // namespace heed
