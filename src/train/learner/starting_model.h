// The model whose weights a run begins from.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/adapter.h"
#include "checkpoint/model_directory.h"
#include "nn/weights/trainables.h"
#include "tensor_files/safetensors.h"

namespace heed {

// The vocabulary sizes of a model's tokenizers, for the roles of a model of this architecture. A role gets the
// tokenizer of the same role, or else the one that reads (for an encoder) or writes text.
std::vector<int64_t> vocabulary_sizes_of(const ModelFolder& folder, Architecture architecture);

// What a run took of another model's weights, and why it did not take the rest.
struct TakenWeights {
  struct CopiedRows {
    std::string name;
    int64_t rows = 0;           // that are copied
    std::vector<int32_t> from;  // the other's row for each of this one's; -1: none
  };
  struct Reason {
    std::string name, why;
  };
  struct Difference {
    std::string key, there, here;
  };

  std::string directory;
  std::vector<std::string> whole;      // as they are
  std::vector<CopiedRows> by_text;     // the rows of tokens or labels that both models have; the others begin fresh
  std::vector<RenamedWeight> renamed;  // of those, the ones that the other model has under another name
  std::vector<Reason> fresh;           // not taken at all
  std::vector<std::string> unused;     // the other model's, which this one lacks
  std::vector<Difference> settings;    // of the two models, without the sizes of their vocabularies
  // In one line. `listed_in`: the file that lists all of them; empty: none.
  std::string text(std::string_view listed_in = {}) const;
};

// Which weights stay as they were drawn, all or in part, because they are frozen but were not taken; empty: none.
std::string frozen_at_random(const TakenWeights& taken, const Weights& weights,
                             const std::vector<WeightTreatment>& treatments);

// FormatError for the folder of an adapter: a run begins from a whole model.
void require_whole_model(const ModelFolder& folder);

// What a run can begin from. Where only an adapter is trained, the model's own matrices may be quantized.
enum class StartingWeights : uint8_t { floats, floats_or_integers };

// A model directory: FormatError or IoError when something in it is missing or wrong.
class StartingModel {
 public:
  StartingModel(const ModelFolder& folder, StartingWeights accepted);

  // Its tokenizers, for the roles of a model of this architecture; see vocabulary_sizes_of(). FormatError for an
  // encoder-decoder when they lack eos, or bos where marks_for() says nothing.
  Tokenizers tokenizers_for(Architecture architecture) const;
  // What goes with these tokenizers in a model of this architecture.
  ModelMarks marks_for(Architecture architecture) const;
  const ModelFolder& folder() const { return folder_; }
  // What identifies it as the base of an adapter.
  std::string checksum() const { return checksum_of_base(*weights_.stored); }

  // The weights that fit a model: those that have the same shape in both, and the same name or the same meaning. A
  // weight with a row for each token or label is taken row by row where these differ: a row goes to the token or label
  // with the same text. Without tokenizers, which the run is still to learn, such rows begin fresh. ConfigError when
  // nothing fits.
  TakenWeights match(const Weights& weights, const ModelConfig& config, const Tokenizers& tokenizers) const;
  // Copies what matches into the masters, or into the weights of the base, and refreshes the copies. Quantized matrices
  // of the base stay what they are.
  void copy(const TakenWeights& taken, Backend& backend, Trainables& trainables) const;

  const ModelConfig& config() const { return description_.config; }
  const TextPrompts& prompts() const { return description_.prompts; }
  const DecodingDefaults& decoding() const { return description_.decoding; }
  std::optional<Documents> documents() const { return description_.documents; }

 private:
  static constexpr int32_t kNoRow = -1;
  // For each token of the run its row in this model, or kNoRow; empty where the vocabularies are the same.
  std::vector<int32_t> rows_for(const Tokenizer& of_run, const Tokenizer& of_this) const;
  std::vector<int32_t> rows_for_labels(const std::vector<std::string>& labels, int64_t count) const;
  const Weight* counterpart(const Weight& weight) const;
  std::vector<int32_t> rows_of(const Weight& weight, const Weight& there, const ModelConfig& config,
                               const Tokenizers& tokenizers) const;

  ModelFolder folder_;
  ModelDescription description_;
  Tokenizers tokenizers_;
  std::shared_ptr<const Weights> registered_;  // without values
  WidenedWeights weights_;
};

// What the recipe's training can begin from.
StartingWeights starting_weights(const AdapterConfig& adapter);

// The event of metrics.jsonl.
std::string to_json(const TakenWeights& taken);

}  // namespace heed
