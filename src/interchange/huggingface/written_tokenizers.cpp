#include "interchange/huggingface/written_tokenizers.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/errors.h"
#include "base/system/files.h"
#include "text/huggingface/writing/written_pieces.h"
#include "text/huggingface/writing/written_tokenizer.h"

namespace heed {
namespace {

using FileJson = nlohmann::json;

constexpr const char* kWrittenConfigFile = "tokenizer_config.json";

// What heed puts around texts by itself: an encoder's texts, a translator's sources, a language model's documents.
TextFrames frames_of(const ExportedModel& model, const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special();
  const FrameSlot begin{.token = beginning_of_document(tokenizer)}, end{.token = special.eos}, text{.text = 0};
  switch (model.config.architecture) {
    case Architecture::causal_lm:
      return model.documents == Documents::none ? TextFrames{}
                                                : TextFrames{{begin, text}, {begin, text, {.text = 1, .type = 1}}};
    case Architecture::seq2seq:
      return {{text, end}, {text, end, {.text = 1}, end}};
    default:
      break;
  }
  const FrameSlot between{.token = special.sep == kNoToken ? special.eos : special.sep};
  return {{begin, text, end}, {begin, text, between, {.text = 1, .type = 1}, {.token = special.eos, .type = 1}}};
}

void add_names(FileJson& config, const SpecialNames& names) {
  const std::array<std::pair<const char*, const std::string*>, 7> keys{{{"bos_token", &names.bos},
                                                                        {"eos_token", &names.eos},
                                                                        {"unk_token", &names.unk},
                                                                        {"pad_token", &names.pad},
                                                                        {"sep_token", &names.sep},
                                                                        {"cls_token", &names.cls},
                                                                        {"mask_token", &names.mask}}};
  for (const auto& [key, name] : keys) {
    if (!name->empty() && !config.contains(key)) {
      config[key] = *name;
    }
  }
}

FileJson config_in(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kWrittenConfigFile;
  return std::filesystem::exists(file) ? FileJson::parse(read_file(file)) : FileJson::object();
}

void write_config(const ExportedModel& model, FileJson config, const char* tokenizer_class,
                  const std::filesystem::path& folder) {
  config["tokenizer_class"] = tokenizer_class;
  config["model_max_length"] = model.config.max_length;
  config["clean_up_tokenization_spaces"] = false;
  write_file(folder / kWrittenConfigFile, config.dump(2) + "\n");
}

// Languages are spelt "__de__".
constexpr const char* kLanguagesOfM2m = "__{}__";

void write_one(const ExportedModel& model, const std::string& family, const std::filesystem::path& folder) {
  const Tokenizer& tokenizer = *model.tokenizers.front();
  const WrittenTokenizer written = write_huggingface_tokenizer(tokenizer, frames_of(model, tokenizer), model.where);
  write_file(folder / "tokenizer.json", written.document);
  FileJson config = config_in(folder);
  add_names(config, written.names);
  if (model.marks.language_form == kLanguagesOfM2m) {
    config["language_codes"] = "m2m100";
  } else if (model.marks.language_form.empty() && (family == "m2m_100" || family == "mbart")) {
    config["language_codes"] = kNoLanguages;
  }
  write_config(model, std::move(config), "PreTrainedTokenizerFast", folder);
}

std::string spelled(const Tokenizer& tokenizer, TokenId token) {
  const auto* const foreign = dynamic_cast<const HuggingFaceTokenizer*>(&tokenizer);
  return token == kNoToken ? "" : foreign != nullptr ? foreign->token_text(token) : std::string(tokenizer.piece(token));
}

// Marian's own files. Where both vocabularies are the same, there is one.
void write_pair(const ExportedModel& model, const std::filesystem::path& folder) {
  const Tokenizer &source = *model.tokenizers.front(), &target = *model.tokenizers.back();
  const WrittenPieces of_source = write_pieces(source, model.where), of_target = write_pieces(target, model.where);
  const bool are_apart = of_source.vocabulary != of_target.vocabulary;
  write_file(folder / "source.spm", of_source.model);
  write_file(folder / "target.spm", of_target.model);
  write_file(folder / "vocab.json", of_source.vocabulary);
  if (are_apart) {
    write_file(folder / "target_vocab.json", of_target.vocabulary);
  }
  const SpecialTokens& special = source.special();
  FileJson config = config_in(folder);
  add_names(
      config,
      {.eos = spelled(source, special.eos), .unk = spelled(source, special.unk), .pad = spelled(source, special.pad)});
  config["separate_vocabs"] = are_apart;
  write_config(model, std::move(config), "MarianTokenizer", folder);
}

}  // namespace

void write_huggingface_tokenizers(const ExportedModel& model, const std::string& family,
                                  const std::filesystem::path& folder) {
  const bool is_one = model.tokenizers.front() == model.tokenizers.back();
  require<ConfigError>(is_one || family == "marian", model.where,
                       "has a tokenizer for sources and another one for targets, but the {} form has one", family);
  is_one ? write_one(model, family, folder) : write_pair(model, folder);
}

}  // namespace heed
