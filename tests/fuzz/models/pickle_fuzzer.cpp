// A file of torch.save of any bytes: opened, and all values read.
#include "fuzz/fuzz.h"
#include "interchange/pickle/pickle_archive.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const fuzz::MemoryFile content(fuzz::text_of(bytes, size));
  fuzz::allow_refusal([&] {
    const TensorArchive archive = open_pickle_archive(content.path());
    for (const ArchiveTensor& tensor : archive.tensors()) {
      ensure(read_floats(tensor).size() == static_cast<size_t>(tensor.elements()), "fuzz", "{} is lost", tensor.text());
      ensure(archive.find(tensor.name) == &tensor, "fuzz", "{} is lost", tensor.text());
    }
  });
  return 0;
}
