#include "quant/normed_products.h"

namespace heed {
namespace {

bool is_of_layer(const WeightIdentity& weight, const WeightIdentity& other) {
  return weight.place.stack == other.place.stack && weight.place.layer == other.place.layer;
}

bool is_input_of_feed_forward(const WeightIdentity& weight) {
  return weight.has(WeightRole::gate) || weight.has(WeightRole::up);
}

// Whether a product reads the norm of a sublayer's input. Parallel branches read the attention's.
bool reads_norm_of_sublayer(const WeightIdentity& product, const WeightIdentity& norm, Branches branches) {
  if (!is_of_layer(product, norm)) {
    return false;
  }
  switch (*norm.place.sublayer) {
    case Sublayer::feed_forward:
      return is_input_of_feed_forward(product);
    case Sublayer::cross_attention:
      return product.is_of(Sublayer::cross_attention) && product.has(WeightRole::query);
    case Sublayer::self_attention:
      break;
  }
  return (product.is_of(Sublayer::self_attention) &&
          (product.has(WeightRole::query) || product.has(WeightRole::forget_gate))) ||
         (branches == Branches::parallel && is_input_of_feed_forward(product));
}

// Whether a product reads the norm at a stack's end. What an encoder alone writes are embeddings of their own, and a
// tied table is looked up, too.
bool reads_norm_of_stack(const WeightIdentity& product, const WeightIdentity& norm) {
  return norm.is_of(Stack::decoder) ? product.has(WeightRole::logits)
                                    : product.is_of(Sublayer::cross_attention) && product.has(WeightRole::key);
}

}  // namespace

std::vector<NormedProducts> normed_products(const ModelConfig& config, const Weights& weights) {
  std::vector<NormedProducts> found;
  if (config.placement != NormPlacement::pre && config.placement != NormPlacement::sandwich) {
    return found;
  }
  for (const Weight& gain : weights.all()) {
    const WeightIdentity& norm = gain.identity();
    const bool of_sublayer = norm.has(WeightRole::sublayer_norm), of_stack = norm.has(WeightRole::final_norm);
    if (norm.term != WeightTerm::factor || !(of_sublayer || of_stack)) {
      continue;
    }
    NormedProducts normed{{}, {}, config.norm_gain};
    for (const Weight& weight : weights.all()) {
      const WeightIdentity& other = weight.identity();
      if (other.place == norm.place && other.has(norm.roles.front().role)) {
        normed.norm.push_back(&weight);
      }
      if (other.term == WeightTerm::factor &&
          (of_stack ? reads_norm_of_stack(other, norm) : reads_norm_of_sublayer(other, norm, config.branches))) {
        normed.products.push_back(&weight);
      }
    }
    if (!normed.products.empty()) {
      found.push_back(std::move(normed));
    }
  }
  return found;
}

}  // namespace heed
