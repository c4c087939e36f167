// What a weight is in a model: its stack, its layer and its role there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace heed {

enum class Stack : uint8_t { encoder, decoder };

enum class Sublayer : uint8_t { self_attention, cross_attention, feed_forward };

enum class WeightRole : uint8_t {
  token_embedding,
  position_embedding,
  type_embedding,
  bigram_embedding,  // of a token and the one before it
  embedding_norm,
  embedding_projection,  // from the embeddings' width to the model's
  value_embedding,       // a token's row, which layers add to its value
  value_embedding_norm,
  query,
  key,
  value,
  forget_gate,  // of a recurrence, as the next
  candidate,
  attention_output,  // from all heads back to the model's width
  query_norm,
  key_norm,
  relative_bias,  // of all layers of a stack
  relative_keys,
  relative_values,
  gate,  // of a gated feed-forward layer: what goes through the activation
  up,
  down,
  sublayer_norm,  // of a sublayer's input or, in post-norm, of the sum with its output
  branch_norm,    // of a sublayer's output
  skip_norm,      // of an earlier layer's output, which is added to a later one's input
  final_norm,     // at the end of a stack
  logits,         // the output projection to the vocabulary
  labels,         // the same of a head, to its labels
  head_layer,     // of an encoder, before its output projection or its head
  head_norm,      // after the head layer's activation
  text_layer,     // of an encoder, after pooling: makes a text's embedding
  adapter_a,
  adapter_b,
};

inline bool is_norm(WeightRole role) {
  return role == WeightRole::embedding_norm || role == WeightRole::query_norm || role == WeightRole::key_norm ||
         role == WeightRole::sublayer_norm || role == WeightRole::branch_norm || role == WeightRole::final_norm ||
         role == WeightRole::head_norm || role == WeightRole::skip_norm || role == WeightRole::value_embedding_norm;
}

// Matrices, tables and gains are multiplied with what comes in; biases are added.
enum class WeightTerm : uint8_t { factor, bias };

// Where in a model a weight is. An embedding belongs to the stack that reads it; the output projection to none.
struct WeightPlace {
  std::optional<Stack> stack = {};
  std::optional<int64_t> layer = {};
  std::optional<Sublayer> sublayer = {};

  bool operator==(const WeightPlace&) const = default;
};

// A role, and how many rows have it; a vector's rows are its elements.
struct RoleRows {
  WeightRole role;
  int64_t rows = 0;  // 0: all
};
// The roles of a weight, in the order of its rows: several where matrices are stacked in one.
using WeightRoles = std::vector<RoleRows>;

struct WeightIdentity {
  WeightPlace place;
  WeightRoles roles;  // none: a weight outside a model
  WeightTerm term = WeightTerm::factor;

  bool has(WeightRole role) const { return std::ranges::count(roles, role, &RoleRows::role) > 0; }
  bool is_of(Stack stack) const { return place.stack == stack; }
  bool is_of(Sublayer sublayer) const { return place.sublayer == sublayer; }
};

// The gain or the bias of a normalization.
inline bool is_of_norm(const WeightIdentity& weight) {
  return std::ranges::any_of(weight.roles, is_norm, &RoleRows::role);
}

// A token's vector, or what is added to it before the first layer.
inline bool is_of_embedding(const WeightIdentity& weight) {
  return weight.has(WeightRole::token_embedding) || weight.has(WeightRole::position_embedding) ||
         weight.has(WeightRole::type_embedding) || weight.has(WeightRole::bigram_embedding) ||
         weight.has(WeightRole::embedding_norm) || weight.has(WeightRole::embedding_projection);
}

}  // namespace heed
