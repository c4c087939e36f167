// What a recipe or a model directory describes, and what such a model does with a random batch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/types/names.h"

namespace heed {

// A number of elements or, while a vocabulary's size is unknown (its tokenizer is not trained yet), elements per token.
struct ParameterCount {
  int64_t elements = 0;
  std::string vocabulary;  // "target_vocabulary"; empty where the elements are known
};

struct ParameterInfo {
  std::string name, shape;  // the shape names the vocabulary too
  ParameterCount count;
  // As a model directory stores it, such as "f32" or "int4"; empty for a recipe and for an adapter's base.
  std::string type;
  int64_t bytes = 0;    // as stored, scales included; 0 for a recipe
  std::string from;     // of another program's model: the tensors that it is made of
  bool trained = true;  // otherwise frozen: by training.freeze, or because adapters are trained instead
};

struct ModelSummary {
  std::string architecture;  // the [model] keys and their values, a line each
  // What training takes from the model that it begins from; an adapter's base; where another program's model has its
  // settings.
  std::vector<std::string> notes;
  std::vector<ParameterInfo> parameters;
  std::vector<ParameterCount> trained;  // of those that are trained; empty: all are
  std::vector<ParameterCount> counts;   // of all parameters: first what is known, then per vocabulary of unknown size
};

// What a model directory, or another program's model, is: which of the handles takes it.
enum class ModelKind : uint8_t { translator, language_model, encoder };

inline constexpr std::array<NamedValue<ModelKind>, 3> kModelKindNames{{{"translator", ModelKind::translator},
                                                                       {"language-model", ModelKind::language_model},
                                                                       {"encoder", ModelKind::encoder}}};

// Throws, naming the file, where there is no model.
ModelKind kind_of_model(const std::string& directory);

// Describes a recipe, a model directory or another program's model. `overrides` are "table.key=value" and replace what
// the recipe says; a model directory takes none. Where the recipe leaves a vocabulary's size to its tokenizer, the
// largest allowed size is assumed; characters and words are counted in the recipe's text or, where the text is missing,
// left open. ConfigError and FormatError say what is wrong.
ModelSummary inspect_recipe(const std::string& path, const std::vector<std::string>& overrides = {});

// A drawing of the model in SVG, for a page with the styles of reports.
std::string draw_model(const std::string& directory);

struct ProbeOptions {
  std::string path;  // a recipe, whose model has the weights that training begins with, or a directory
  std::vector<std::string> overrides;  // of a recipe
  int64_t sequences = 2;
  std::optional<int64_t> length;  // of a sequence, in tokens; none: 16, or as many as the model takes where that is
                                  // less. The target of a translation has three quarters of it
  uint64_t seed = 1;              // of tokens and initial weights
  int threads = 0;                // 0: one per processor
};

// What came out of a part of the model, over all rows and columns.
struct ProbedPart {
  std::string name;  // the path of its weights: "encoder.layers.0.feed_forward.inner"
  int64_t rows = 0, columns = 0;
  double mean = 0.0, deviation = 0.0, minimum = 0.0, maximum = 0.0;
};

// A layer's attention weights, over all heads and queries.
struct ProbedAttention {
  std::string name;
  double minimum_sum = 0.0, maximum_sum = 0.0;  // of a query's weights; each should be 1
  double on_hidden_keys = 0.0;                  // the largest weight of a key that its query must not see; should be 0
};

struct ProbedGradient {
  std::string name, shape;  // of a parameter; a whole layer has no shape
  double norm = 0.0;        // of the gradient
  double weights = 0.0;     // the norm of the parameter itself
  bool trained = true;      // otherwise frozen: there is no gradient
};

// Where a stack's output changed, in any bit, when one token of the first sequence was replaced by another.
struct ProbedChange {
  std::string stream;              // whose token was replaced: "source", "target" or "text"
  int64_t position = 0;            // of that token
  std::string stack;               // whose output was compared: "encoder" or "decoder"
  int64_t length = 0;              // of the stack's first sequence
  std::vector<int64_t> changed;    // positions of it that changed
  std::vector<int64_t> leaks;      // of these, those that must not depend on the token
  std::vector<int64_t> unchanged;  // positions that may depend on the token, but did not change
  int64_t other_sequences = 0;     // rows of other sequences that changed: each is a leak
};

struct Probe {
  std::vector<std::string> notes;  // what was assumed
  int64_t sequences = 0, tokens = 0, outputs = 0;
  uint64_t seed = 0;
  double loss = 0.0;                    // per prediction
  std::optional<double> uniform_guess;  // the loss of a model that gives all outputs the same probability
  std::vector<ProbedPart> parts;        // in the order in which they were computed
  std::vector<ProbedAttention> attention;
  std::vector<ProbedGradient> layers, parameters;
  std::vector<ProbedChange> changes;

  // False when a position depends on a token that it must not see, a query sees a key that it must not, or weights do
  // not sum to 1.
  bool is_sound() const;
};

// Runs one random batch through the model, forward and backward, in f32 and without dropout.
Probe probe_model(const ProbeOptions& options);

}  // namespace heed
