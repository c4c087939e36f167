#include "interchange/huggingface/written_tokenizers.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/errors.h"
#include "base/system/files.h"
#include "text/huggingface/writing/written_tokenizer.h"

namespace heed {
namespace {

using FileJson = nlohmann::json;

constexpr const char* kTokenizerConfigFile = "tokenizer_config.json";

// What heed puts around texts by itself: an encoder's texts, a translator's sources, a language model's documents.
TextFrames frames_of(const ExportedModel& model, const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special();
  const FramePart begin{.token = beginning_of_document(tokenizer)}, end{.token = special.eos}, text{.text = 0};
  switch (model.config.architecture) {
    case Architecture::causal_lm:
      return model.documents == Documents::none ? TextFrames{}
                                                : TextFrames{{begin, text}, {begin, text, {.text = 1, .type = 1}}};
    case Architecture::seq2seq:
      return {{text, end}, {text, end, {.text = 1}, end}};
    default:
      break;
  }
  const FramePart between{.token = special.sep == kNoToken ? special.eos : special.sep};
  return {{begin, text, end}, {begin, text, between, {.text = 1, .type = 1}, {.token = special.eos, .type = 1}}};
}

void add_names(FileJson& config, const SpecialNames& names) {
  const std::array<std::pair<const char*, const std::string*>, 7> kKeys{{{"bos_token", &names.bos},
                                                                         {"eos_token", &names.eos},
                                                                         {"unk_token", &names.unk},
                                                                         {"pad_token", &names.pad},
                                                                         {"sep_token", &names.sep},
                                                                         {"cls_token", &names.cls},
                                                                         {"mask_token", &names.mask}}};
  for (const auto& [key, name] : kKeys) {
    if (!name->empty() && !config.contains(key)) {
      config[key] = *name;
    }
  }
}

void write_tokenizer_config(const ExportedModel& model, const SpecialNames& names, const std::string& tokenizer_class,
                            const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kTokenizerConfigFile;
  FileJson config = std::filesystem::exists(file) ? FileJson::parse(read_file(file)) : FileJson::object();
  add_names(config, names);
  config["tokenizer_class"] = tokenizer_class;
  config["model_max_length"] = model.config.max_length;
  config["clean_up_tokenization_spaces"] = false;
  write_file(file, config.dump(2) + "\n");
}

}  // namespace

void write_huggingface_tokenizers(const ExportedModel& model, const std::string& family,
                                  const std::filesystem::path& folder) {
  const Tokenizer& tokenizer = *model.tokenizers.front();
  require<ConfigError>(model.tokenizers.front() == model.tokenizers.back(), model.where,
                       "has a tokenizer for sources and another one for targets, but the {} form has one", family);
  const WrittenTokenizer written = write_huggingface_tokenizer(tokenizer, frames_of(model, tokenizer), model.where);
  write_file(folder / "tokenizer.json", written.document);
  write_tokenizer_config(model, written.names, "PreTrainedTokenizerFast", folder);
}

}  // namespace heed
