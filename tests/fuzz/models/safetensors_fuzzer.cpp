#include "fuzz/fuzz.h"
#include "tensor_files/safetensors.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const fuzz::MemoryFile file(fuzz::text_of(bytes, size));
  fuzz::allow_refusal([&file] {
    const SafeTensors tensors(file.path());
    uint64_t covered = 0;
    for (const StoredTensor& tensor : tensors.tensors()) {
      for (const std::byte byte : tensor.bytes) {
        covered += std::to_integer<uint64_t>(byte) > 0 ? 1 : 0;
      }
      ensure(tensors.find(tensor.name) == &tensor && !tensor.text().empty(), "fuzz", "{} is lost", tensor.name);
    }
    ensure(covered <= std::filesystem::file_size(file.path()), "fuzz", "tensors overlap");
    verify_checksum(tensors);
  });
  return 0;
}
