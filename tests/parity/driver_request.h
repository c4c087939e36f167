// The request of a parity test: a folder with request.json, the model's recipe and the weights.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/any_model.h"
#include "optim/optimizer.h"

namespace heed::parity {

enum class Layout : uint8_t { ragged, padded };      // padded: rectangular, with masks that the caller brings
enum class LossPath : uint8_t { fused, of_logits };  // of_logits: the logits are formed, then their cross-entropy

// Masks of a padded batch.
struct Masks {
  AttentionMask encoder_self, decoder_self, cross;
};

// Tape and memory refer to the sequences, so a batch outlives the steps taken on it. A model of one stream reads
// `tokens`, which is what `pairs` has as target; with a head of several labels or a number, `valued`.
struct Batch {
  PairBatch pairs;
  TokenBatch tokens;
  std::optional<ValuedBatch> valued;
  std::unique_ptr<Masks> masks;
};

struct Steps {
  int64_t count = 0;
  double learning_rate = 0.0;
  OptimizerConfig optimizer;
};

struct Request {
  ModelConfig config;
  std::string precision;
  LossPath loss_path;
  Smoothing smoothing{0.0F};
  uint64_t seed;
  std::vector<std::unique_ptr<Batch>> batches;
  Steps steps;
  nlohmann::json weights;  // [{name, shape}], in the order of weights.bin
};

Request read_request(const std::string& folder);

// weights.bin, little-endian f32, into the parameters of these names.
void read_weights(const std::string& folder, const Request& request, Backend& backend, Trainables& trainables);

}  // namespace heed::parity
