// A CTranslate2 directory with a model.bin, a config.json and vocabularies of the same bytes.
#include "fuzz/fuzz.h"
#include "interchange/ctranslate2/directory.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::ScratchFolder scratch;
  const std::string_view content = fuzz::text_of(bytes, size);
  const fuzz::MemoryFile model(content);
  for (const char* const name : {"config.json", "source_vocabulary.json", "target_vocabulary.txt"}) {
    scratch.write(name, content);
  }
  fuzz::allow_refusal([&] { read_ctranslate2_vocabularies(scratch.path(), "<unk>"); });
  const CTranslate2File newest{6, 7, "TransformerSpec", TensorArchive("fuzz")};
  fuzz::allow_refusal([&] { read_ctranslate2_config(scratch.path(), newest); });
  fuzz::allow_refusal([&] {
    const CTranslate2File file = open_ctranslate2_file(model.path());
    for (const ArchiveTensor& tensor : file.tensors.tensors()) {
      ensure(read_floats(tensor).size() == static_cast<size_t>(tensor.elements()), "fuzz", "{} is lost", tensor.text());
      fuzz::allow_refusal([&] { file.find_number(tensor.name); });
      fuzz::allow_refusal([&] { file.find_text(tensor.name); });
    }
    read_ctranslate2_config(scratch.path(), file);
  });
  return 0;
}
