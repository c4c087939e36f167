// A model loaded from its folder, ready for inference.
#pragma once

#include <memory>
#include <optional>

#include "checkpoint/model_directory.h"
#include "interchange/foreign_weights.h"
#include "models/any_model.h"

namespace heed {

// FormatError when the file says that it belongs to another configuration: one that gives weights the same shapes may
// have other heads.
void require_mark(const TensorFile& weights, const ModelFolder& folder, const ModelConfig& config);
// FormatError for a configuration with more layers than so many tensors can hold, before anything is allocated for it.
void require_enough_tensors(int64_t tensors, const std::filesystem::path& path, const ModelConfig& config);
// FormatError unless the file can hold the weights of this configuration, and none of another one with the same shapes.
void require_weights_of(const TensorFile& weights, const ModelFolder& folder, const ModelConfig& config);
// Whether the folder has a whole model's weights: an adapter's has none, and that of a run none before its end.
bool has_weights(const ModelFolder& folder);
// A model's weights by heed's names, whatever program wrote them. FormatError unless they are those of the
// configuration. What is not only run needs floats.
std::shared_ptr<const TensorFile> open_weights(const ModelFolder& folder, const ModelConfig& config,
                                               BlocksAs blocks = BlocksAs::stored);

// Loaded completely. It cannot be moved: its parts refer to each other.
class StoredModel {
 public:
  // The folder's own weights, or those of another file of the same model. ConfigError when the backend cannot run the
  // storage type; FormatError when vocabularies or shapes differ from what config.json says, naming both sides.
  StoredModel(const ModelFolder& folder, Backend& backend, DType storage, const std::filesystem::path& weights = {},
              const ContextOptions& context = {});
  StoredModel(const StoredModel&) = delete;
  StoredModel& operator=(const StoredModel&) = delete;

  const ModelConfig& config() const { return model_->config(); }
  const AnyModel& model() const { return *model_; }
  // What a language model was trained on, if its directory says so.
  std::optional<Documents> documents() const { return documents_; }
  // What an encoder was trained to read, if its directory says so.
  std::optional<TextColumns> columns() const { return columns_; }
  // What an encoder-decoder reads and writes beside its texts.
  const ModelMarks& marks() const { return marks_; }
  // What a model reads before texts that it embeds.
  const TextPrompts& prompts() const { return prompts_; }
  const DecodingDefaults& decoding() const { return decoding_; }  // of another program's model
  int64_t parameters() const { return parameters_; }              // without an adapter's
  int64_t step_bytes() const;                                     // of the weights that a step of decoding reads

  // From now on products read the values that integers stand for, as those of training do (ops/unpacked_weight.h). What
  // is only looked up, and floats, which products multiply as they are, stay packed.
  void unpack_for_products();

  const Tokenizer& source() const { return tokenizer("source"); }
  const Tokenizer& target() const { return tokenizer("target"); }
  const Tokenizer& text() const { return tokenizer("text"); }
  const Tokenizer& tokenizer(std::string_view role) const;

 private:
  struct Use {
    Backend& backend;
    DType storage;
    const ContextOptions& context;
  };
  void hold_weights(const ModelFolder& folder, const ModelConfig& config, const std::filesystem::path& weights,
                    const Use& use);

  Tokenizers tokenizers_;
  std::optional<Documents> documents_;
  std::optional<TextColumns> columns_;
  ModelMarks marks_;
  TextPrompts prompts_;
  DecodingDefaults decoding_;
  Weights weights_;
  std::optional<AnyModel> model_;
  int64_t parameters_ = 0;
};

// FormatError, naming the commands that would work, unless the folder holds a model of this kind.
void require_architecture(const ModelFolder& folder, Architecture architecture);

}  // namespace heed
