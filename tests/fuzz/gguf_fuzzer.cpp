// A GGUF file of any bytes: its metadata as every kind of value, and its tensors' values.
#include "interchange/gguf/gguf_file.h"

#include "fuzz/fuzz.h"

using namespace heed;

namespace {

void use_value(const GgufMetadata& metadata, const std::string& key) {
  ensure(!metadata.shown_value(key).empty() && metadata.has(key), "fuzz", "{} is lost", key);
  fuzz::allow_refusal([&] { metadata.integer(key); });
  fuzz::allow_refusal([&] { metadata.real(key); });
  fuzz::allow_refusal([&] { metadata.boolean(key); });
  fuzz::allow_refusal([&] { metadata.text(key); });
  fuzz::allow_refusal([&] { metadata.integers(key); });
  fuzz::allow_refusal([&] { metadata.reals(key); });
  fuzz::allow_refusal([&] { metadata.texts(key); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const fuzz::MemoryFile content(fuzz::text_of(bytes, size));
  fuzz::allow_refusal([&content] {
    const GgufFile file = open_gguf(content.path());
    ensure(is_gguf(content.path()), "fuzz", "its mark is lost");
    for (const std::string& key : file.metadata.keys()) {
      use_value(file.metadata, key);
    }
    for (const ArchiveTensor& tensor : file.tensors.tensors()) {
      ensure(read_floats(tensor).size() == static_cast<size_t>(tensor.elements()), "fuzz", "{} is lost", tensor.text());
    }
  });
  return 0;
}
