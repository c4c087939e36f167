// A Hugging Face directory whose config.json, index of shards or list of modules are these bytes, beside the weights of
// a small model. The first byte says of which family, and which file.
#include <array>
#include <map>

#include "fuzz/fuzz.h"
#include "interchange/archive/shard_index.h"
#include "interchange/foreign_source.h"
#include "source_root.h"

using namespace heed;

namespace {

constexpr std::array kModels{"decoders/llama",
                             "decoders/gpt2",
                             "decoders/gemma-2",
                             "decoders/gpt-neox",
                             "decoders/phi-3",
                             "encoder_decoders/m2m-100",
                             "encoder_decoders/t5",
                             "encoder_decoders/bart",
                             "encoders/bert-sequence",
                             "encoders/electra-masked",
                             "encoders/distilbert-sequence",
                             "encoders/sentence-dense"};
constexpr std::array kFiles{"config.json", "modules.json", "1_Pooling/config.json", "model.safetensors.index.json"};

// Links to a golden model's files.
class ModelLinks {
 public:
  explicit ModelLinks(std::string_view name) : original_(test::source_root() / "tests/interchange/golden" / name) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(original_)) {
      const auto relative = std::filesystem::relative(entry.path(), original_);
      if (entry.is_directory()) {
        std::filesystem::create_directories(scratch_.path() / relative);
      } else {
        std::filesystem::create_symlink(entry.path(), scratch_.path() / relative);
      }
    }
  }

  const std::filesystem::path& path() const { return scratch_.path(); }
  void put(const std::filesystem::path& file, std::string_view content) {
    std::filesystem::create_directories((scratch_.path() / file).parent_path());
    std::filesystem::remove(scratch_.path() / file);
    scratch_.write(file, content);
  }
  void restore(const std::filesystem::path& file) {
    std::filesystem::remove(scratch_.path() / file);
    if (std::filesystem::exists(original_ / file)) {
      std::filesystem::create_symlink(original_ / file, scratch_.path() / file);
    }
  }

 private:
  std::filesystem::path original_;
  fuzz::ScratchFolder scratch_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static std::map<size_t, ModelLinks> models;
  if (size == 0) {
    return 0;
  }
  const size_t model = bytes[0] % kModels.size(), file = bytes[0] / kModels.size() % kFiles.size();
  ModelLinks& links = models.try_emplace(model, kModels[model]).first->second;
  links.put(kFiles[file], fuzz::text_of(bytes + 1, size - 1));
  fuzz::allow_refusal([&] {
    const ForeignModel found = read_foreign_model(links.path());
    found.notes();
    open_foreign_weights(found);
  });
  if (std::string_view(kFiles[file]) == "model.safetensors.index.json") {
    fuzz::allow_refusal([&] { read_shard_index(links.path() / kFiles[file]); });
  }
  links.restore(kFiles[file]);
  return 0;
}
