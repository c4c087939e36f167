// A GGUF file of any bytes: its metadata as every kind of value, its tensors' values, and all of it as a model.
#include "interchange/gguf/gguf_file.h"

#include "fuzz/fuzz.h"
#include "interchange/foreign_source.h"
#include "interchange/gguf/gguf_model.h"

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

void use_weights(const ForeignModel& model) {
  const auto weights = open_foreign_weights(model);
  std::vector<std::byte> buffer;
  for (const StoredTensor& tensor : weights->tensors()) {
    fuzz::allow_refusal([&] {
      const RowSpan all{0, tensor.rows()};
      ensure(static_cast<int64_t>(weights->rows(tensor, all, buffer).size()) == tensor.rows() * tensor.row_bytes(),
             "fuzz", "{} is lost", tensor.text());
    });
  }
  weights->conversions();
}

void use_model(const std::filesystem::path& path) {
  const ForeignModel model = read_gguf_model(path);
  model.notes();
  fuzz::allow_refusal([&] { use_weights(model); });
  fuzz::allow_refusal([&] {
    const auto tokenizer = read_gguf_tokenizer(path, model);
    ensure(tokenizer->vocabulary_size() == model.config.target_vocabulary, "fuzz", "{} tokens",
           tokenizer->vocabulary_size());
    tokenizer->decode(tokenizer->encode("the cat\n  \u00e4 1234"));
  });
  fuzz::allow_refusal([&] { read_gguf_chat(path); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const fuzz::MemoryFile content(fuzz::text_of(bytes, size));
  fuzz::allow_refusal([&content] { use_model(content.path()); });
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
