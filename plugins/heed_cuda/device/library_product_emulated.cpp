// On the CPU there is no library: the backend's own kernels multiply.
#include "heed_cuda/kernels/library_product.h"

namespace heed::cuda {
namespace {

struct NoLibrary final : Products {
  bool multiply(const LibraryProduct& /*product*/) override { return false; }
};

}  // namespace

std::unique_ptr<Products> Products::make(Queue& /*queue*/) { return std::make_unique<NoLibrary>(); }

}  // namespace heed::cuda
