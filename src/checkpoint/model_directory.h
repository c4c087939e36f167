// The folder that a trained model lives in: weights, configuration and tokenizers.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "checkpoint/safetensors.h"
#include "models/config.h"
#include "models/models.h"
#include "text/tokenizer.h"

namespace heed {

// What config.json says.
struct ModelDescription {
  ModelConfig config;
  std::string source_tokenizer = "source.tokenizer", target_tokenizer = "target.tokenizer";  // files of the folder
  std::string source_checksum, target_checksum;  // of those files; empty: not known
};

struct ModelFolder {
  std::filesystem::path path;

  std::filesystem::path weights() const { return path / "model.safetensors"; }
  std::filesystem::path config() const { return path / "config.json"; }
  std::filesystem::path recipe() const { return path / "recipe.toml"; }
  std::filesystem::path metrics() const { return path / "metrics.jsonl"; }
  std::filesystem::path checkpoints() const { return path / "checkpoints"; }
};

// Write the tokenizers first: the description notes the checksums of those that are there.
void save_description(const ModelFolder& folder, const ModelDescription& description);
// IoError or FormatError name the file that is missing or wrong.
ModelDescription load_description(const ModelFolder& folder);

// Of what the model is, for its weights to be known by: {"model", checksum of its settings}.
Metadata mark_of(const ModelConfig& config);

struct TokenizerPair {
  std::shared_ptr<const Tokenizer> source, target;  // one and the same where they are shared
};

// FormatError, naming the file, where the tokenizer lacks the bos or eos that translation needs.
void require_sentence_marks(const Tokenizer& tokenizer, const std::filesystem::path& file);

// FormatError when they are not those that the description speaks of.
TokenizerPair load_tokenizers(const ModelFolder& folder, const ModelDescription& description);

// A translation model, loaded whole and ready to decode. Not to be moved: its parts refer to each other.
class StoredTranslator {
 public:
  // The folder's own weights, or those of another file of the same model. ConfigError when the backend cannot run the
  // storage type; FormatError when vocabularies or shapes differ from what config.json says, naming both sides.
  StoredTranslator(const ModelFolder& folder, Backend& backend, DType storage,
                   const std::filesystem::path& weights = {});
  StoredTranslator(const StoredTranslator&) = delete;
  StoredTranslator& operator=(const StoredTranslator&) = delete;

  const ModelConfig& config() const { return description_.config; }
  const Seq2Seq& model() const { return *model_; }
  const Tokenizer& source() const { return *tokenizers_.source; }
  const Tokenizer& target() const { return *tokenizers_.target; }
  int64_t parameters() const { return store_.elements(); }

 private:
  ModelDescription description_;
  TokenizerPair tokenizers_;
  ParameterStore store_;
  std::optional<Seq2Seq> model_;
};

}  // namespace heed
