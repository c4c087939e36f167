// A model's folder: weights, configuration and tokenizers.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/types/reading/labeled_files.h"
#include "interchange/foreign_model.h"
#include "models/config.h"
#include "tensor_files/safetensors.h"
#include "text/decoding_defaults.h"
#include "text/lines/documents.h"
#include "text/model_marks.h"
#include "text/text_prompts.h"
#include "text/translation_tokenizers.h"

namespace heed {

// What a tokenizer is for: an encoder-decoder has a "source" and a "target", other models have one "text".
struct TokenizerRole {
  std::string_view name;
  int64_t ModelConfig::*vocabulary;  // the setting with its size
};
std::span<const TokenizerRole> tokenizer_roles(Architecture architecture);

// A tokenizer in the folder. The checksum is that of the file; empty: unknown.
struct TokenizerFile {
  std::string name, checksum;
};

// The content of config.json.
struct ModelDescription {
  ModelConfig config;
  std::vector<TokenizerFile> tokenizers;  // one for each role
  // What a language model was trained on: a document begins and ends with a mark, a stream has none.
  // Nothing for other models, and for language models of earlier versions.
  std::optional<Documents> documents;
  // What an encoder was trained to read. Nothing for other models, and for encoders of earlier versions.
  std::optional<TextColumns> columns;
  // What another program's model reads and writes beside its texts; heed's own have none.
  ModelMarks marks;
  // What it reads before texts that it embeds; heed's own have none.
  TextPrompts prompts;
  // How its files say that it is to be decoded; heed's own say nothing.
  DecodingDefaults decoding;
};

struct ModelFolder {
  std::filesystem::path path;

  std::filesystem::path weights() const { return path / "model.safetensors"; }
  std::filesystem::path adapter() const { return path / "adapter.json"; }
  std::filesystem::path adapter_weights() const { return path / "adapter.safetensors"; }
  std::filesystem::path config() const { return path / "config.json"; }
  std::filesystem::path recipe() const { return path / "recipe.toml"; }
  std::filesystem::path metrics() const { return path / "metrics.jsonl"; }
  std::filesystem::path checkpoints() const { return path / "checkpoints"; }
};

// What the folder of another program's model describes.
ModelDescription description_of(const ForeignModel& model);

// Writes the tokenizers' files and config.json, with their checksums.
void save_description(const ModelFolder& folder, const ModelConfig& config, const Tokenizers& tokenizers,
                      std::optional<Documents> documents = Documents::none,
                      std::optional<TextColumns> columns = std::nullopt);
void save_description(const ModelFolder& folder, const ModelDescription& description, const Tokenizers& tokenizers);
// ConfigError when the folder holds a model already.
void require_no_model(const ModelFolder& folder);

// Reads heed's own folder, or another program's model. IoError or FormatError name the file that is missing or wrong.
ModelDescription load_description(const ModelFolder& folder);

// FormatError when they are not the ones in the description, or when an encoder-decoder's lack marks.
Tokenizers load_tokenizers(const ModelFolder& folder, const ModelDescription& description);

// FormatError, naming the file, when the tokenizer lacks the eos that translation needs, or the bos, unless the marks
// say what a translation begins with.
void require_sentence_marks(const Tokenizer& tokenizer, const std::filesystem::path& file,
                            const ModelMarks& marks = {});

// Metadata that tells which model weights belong to: {"model", checksum of its settings}.
Metadata mark_of(const ModelConfig& config);

}  // namespace heed
