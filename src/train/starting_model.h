// The model whose weights a run begins from.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/model_directory.h"
#include "checkpoint/safetensors.h"
#include "nn/trainables.h"

namespace heed {

// The vocabulary sizes of a model's tokenizers, for the roles of a model of this architecture. A role gets the
// tokenizer of the same role, or else the one that reads (for an encoder) or writes text.
std::vector<int64_t> vocabulary_sizes_of(const ModelFolder& folder, Architecture architecture);

// What a run took of another model's weights, and why it did not take the rest.
struct TakenWeights {
  struct Part {
    std::string name;
    int64_t rows = 0, of = 0;
  };
  struct Reason {
    std::string name, why;
  };
  struct Difference {
    std::string key, there, here;
  };

  std::string directory;
  std::vector<std::string> whole;    // as they are
  std::vector<Part> by_text;         // the rows of tokens that both vocabularies have; the others begin fresh
  std::vector<Reason> fresh;         // not taken at all
  std::vector<std::string> unused;   // the other model's, which this one lacks
  std::vector<Difference> settings;  // of the two models, without the sizes of their vocabularies
  std::string text() const;          // in one line
};

// A model directory: FormatError or IoError when something in it is missing or wrong.
class StartingModel {
 public:
  explicit StartingModel(const ModelFolder& folder);

  // Its tokenizers, for the roles of a model of this architecture; see vocabulary_sizes_of(). FormatError for an
  // encoder-decoder when they lack bos or eos.
  Tokenizers tokenizers_for(Architecture architecture) const;

  // Copies the weights that have the same name and shape in both models into the masters, and refreshes the copies. A
  // weight with a row for each token is copied row by row where the vocabularies differ: a token's row goes to the
  // token that looks alike. ConfigError when nothing fits.
  TakenWeights copy_to(Backend& backend, Trainables& trainables, const ModelConfig& config,
                       const Tokenizers& tokenizers) const;

 private:
  // For each token of the run its row in this model, or kNoRow; empty where the vocabularies are the same.
  static constexpr int32_t kNoRow = -1;
  std::vector<int32_t> rows_for(const Tokenizer& of_run, const Tokenizer& of_this) const;
  bool copy_rows(const StoredTensor& from, const Trainable& to, std::span<const int32_t> rows,
                 TakenWeights::Part& copied) const;
  const Tokenizer& tokenizer(std::string_view role) const;

  ModelFolder folder_;
  ModelDescription description_;
  Tokenizers tokenizers_;
  SafeTensors file_;
};

// The event of metrics.jsonl.
std::string to_json(const TakenWeights& taken);

}  // namespace heed
