// For each sequence and head: softmax(scale * Q K^T + the term by distance, over the visible keys) V, where values may
// have an addition by distance too. Heads that see different keys are computed part by part, each as attention of its
// own.
#pragma once

#include <vector>

#include "kernels/calls/attention.h"
#include "ops/attention/soft_cap.h"
#include "ops/pass.h"
#include "ops/var.h"
#include "ops/weight.h"

namespace heed {

// What each head sees: all the same, or the heads in as many equal parts as there are visibilities, in order.
class VisibilityByHead {
 public:
  VisibilityByHead() : VisibilityByHead(Visibility::full()) {}
  VisibilityByHead(const Visibility& all) : parts_{all} {}
  explicit VisibilityByHead(std::vector<Visibility> parts);  // at least one

  const std::vector<Visibility>& parts() const { return parts_; }  // one if all are equal
  int64_t count() const { return static_cast<int64_t>(parts_.size()); }

 private:
  std::vector<Visibility> parts_;
};

struct AttentionInputs {
  Columns queries;  // [query rows, heads * key width]
  const Segments* query_segments = nullptr;
  Columns keys, values;  // [key rows, key-value heads * key width], and of the value width
  const Segments* key_segments = nullptr;
};

// A term of the scores by distance; see DistanceScores.
struct RelativeScores {
  enum class Gradient : uint8_t { none, wanted };

  Var table;  // [heads, distances] or [query rows, heads * distances], master type; empty: no such term
  TableOf of = TableOf::head;
  int64_t first = 0;
  double factor = 1.0;
  Gradient gradient = Gradient::none;
};

// Which heads of a whole model those of a call are.
struct HeadRange {
  int64_t first = 0, of = 0;  // of 0: they are all
};

struct AttentionOptions {
  int64_t heads = 1, key_value_heads = 1;
  double scale = 0.0;           // of the scores; 0: 1 / sqrt(key width)
  HeadRange range;              // dropout draws for each head as in the whole
  VisibilityByHead visibility;  // of the whole's heads; this call's are some of its parts, or within one of them
  const AttentionMask* mask = nullptr;
  DropoutSite dropout;        // of the weights
  Tensor* weights = nullptr;  // if set, receives the weights before dropout; see AttentionForward
  RelativeScores relative;
  // Added to the values that a query sees, by the distances of `relative`, which must be of queries: embeddings [value
  // width, distances], see relative_embeddings.h. Null: none.
  const Weight* relative_values = nullptr;
  SoftCapAt cap;  // of the scores; not with a term by distance
};

// How many weights all sequences have, when they are requested.
int64_t attention_weight_count(const Segments& queries, const Segments& keys, int64_t heads);

// The segments and the mask must outlive the tape.
Var attention(Pass& pass, const AttentionInputs& inputs, const AttentionOptions& options);
// Writes keys and values of new tokens into a cache, which has room for them; see KeyValueAppend. For inference.
void append_key_values(Pass& pass, const AttentionInputs& inputs, const KeyValueView& memory);
// Keys and values from a cache; for inference.
Var attention(Pass& pass, const Columns& queries, const Segments& segments, const ConstKeyValueView& memory,
              const AttentionOptions& options);

struct AttentionOp {
  AttentionInputs inputs;
  std::vector<AttentionSettings> parts;  // of the heads
  RelativeScores relative;
  const Weight* relative_values;
  Var output;
  Tensor log_sum_exp, mass;  // mass: with relative values

  void backward(Backend& backend);
};

}  // namespace heed
