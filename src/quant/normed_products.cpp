#include "quant/normed_products.h"

#include <algorithm>

namespace heed {
namespace {

constexpr std::string_view kGain = ".norm.gain";

const Weight* find_product(const Weights& weights, const std::string& name) {
  const auto it = std::ranges::find(weights.all(), name, &Weight::name);
  return it == weights.all().end() ? nullptr : &*it;
}

// "decoder.layers.0.feed_forward" gives the matrices that read its input norm.
std::vector<std::string> readers_of_sublayer(const std::string& path, const ModelConfig& config) {
  const size_t dot = path.rfind('.');
  const std::string layer = path.substr(0, dot), sublayer = path.substr(dot + 1);
  if (sublayer == "feed_forward") {
    return {path + ".inner.weight"};
  }
  if (sublayer == "cross_attention") {
    return {path + ".query.weight"};
  }
  if (config.branches == Branches::parallel) {
    return {path + ".projection.weight", layer + ".feed_forward.inner.weight"};
  }
  return {path + ".projection.weight"};
}

// Of the norm at a stack's end. An encoder's rows are embeddings of their own, and a tied table is looked up, too.
std::vector<std::string> readers_of_stack(const std::string& stack, const ModelConfig& config) {
  if (stack == "decoder") {
    return config.tying == Tying::none ? std::vector<std::string>{"output.weight"} : std::vector<std::string>{};
  }
  std::vector<std::string> readers;
  for (int64_t layer = 0; config.architecture == Architecture::seq2seq && layer < config.decoder_layers; ++layer) {
    readers.push_back(fmt::format("decoder.layers.{}.cross_attention.key_value.weight", layer));
  }
  return readers;
}

}  // namespace

std::vector<NormedProducts> normed_products(const ModelConfig& config, const Weights& weights) {
  std::vector<NormedProducts> found;
  if (config.placement != NormPlacement::pre && config.placement != NormPlacement::sandwich) {
    return found;
  }
  for (const Weight& gain : weights.all()) {
    if (!gain.name().ends_with(kGain)) {
      continue;
    }
    const std::string path = gain.name().substr(0, gain.name().size() - kGain.size());
    const bool of_stack = path == "encoder" || path == "decoder";
    if (!of_stack && path.find(".layers.") == std::string::npos) {
      continue;
    }
    NormedProducts normed{path + ".norm", {}};
    for (const std::string& name : of_stack ? readers_of_stack(path, config) : readers_of_sublayer(path, config)) {
      if (const Weight* const product = find_product(weights, name)) {
        normed.products.push_back(product);
      }
    }
    if (!normed.products.empty()) {
      found.push_back(std::move(normed));
    }
  }
  return found;
}

}  // namespace heed
