// The random batch that a probe runs through a model, and one token of which it changes.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "heed/inspect.h"
#include "models/any_model.h"

namespace heed {

constexpr int64_t kUsualProbedLength = 16, kMaxProbedLength = 1024;

// Whether the model reads labels or numbers from whole texts.
bool is_labeled_text(const ModelConfig& config);
// How many scores a prediction has.
int64_t outputs_of(const ModelConfig& config);

// The rows that a stack puts out.
struct StackOutput {
  std::string stack;
  Var rows;
  const Segments* segments;
};

struct ProbeMaps {
  AttentionMaps encoder, decoder;
};

class ProbeBatch {
 public:
  // The configuration must outlive the batch.
  ProbeBatch(const ModelConfig& config, const ProbeOptions& options);

  // Replaces the token at this position of the first sequence by the vocabulary's next one. Streams are "source" and
  // "target" of an encoder-decoder, "text" of other models.
  void change(const std::string& stream, int64_t position);

  int64_t sequences() const { return static_cast<int64_t>(stream_.size()); }
  int64_t predictions() const { return expected_.size(); }
  int64_t length(const std::string& stream) const {
    return static_cast<int64_t>((stream == "source" ? source_ : stream_).front().size());
  }

  TokenLosses loss(Pass& pass, const AnyModel& model) {
    return model.visit([&](const auto& one) { return loss_of(pass, one); });
  }
  std::vector<StackOutput> outputs(Pass& pass, const AnyModel& model, ProbeMaps& maps) const {
    return model.visit([&](const auto& one) { return outputs_of_stacks(pass, one, maps); });
  }

 private:
  using TokenLists = std::vector<std::vector<int32_t>>;

  double draw() { return uniform_draw(key_, next_draw_++); }
  std::vector<int32_t> draw_ids(int64_t count, int64_t below);
  TokenLists draw_sequences(int64_t count, int64_t length, int64_t vocabulary);
  void build();

  TokenLosses loss_of(Pass& pass, const Seq2Seq& model) const;
  TokenLosses loss_of(Pass& pass, const CausalLM& model) const;
  TokenLosses loss_of(Pass& pass, const EncoderOnly& model);
  std::vector<StackOutput> outputs_of_stacks(Pass& pass, const Seq2Seq& model, ProbeMaps& maps) const;
  std::vector<StackOutput> outputs_of_stacks(Pass& pass, const CausalLM& model, ProbeMaps& maps) const;
  std::vector<StackOutput> outputs_of_stacks(Pass& pass, const EncoderOnly& model, ProbeMaps& maps) const;

  RandomKey key_;
  uint64_t next_draw_ = 0;
  const ModelConfig& config_;
  TokenLists source_, stream_;
  Targets expected_;
  TokenBatch tokens_;
  PairBatch pairs_;
  ValuedBatch valued_;
};

}  // namespace heed
