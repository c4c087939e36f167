#include "parallel/stage_plan.h"

#include <algorithm>
#include <limits>

#include "base/text/plural.h"

namespace heed {
namespace {

// Products per token: elements of the matrices that each layer multiplies.
std::vector<double> work_of_layers(const ModelConfig& config) {
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const double head_widths = number(config.width_of_head()) + number(config.width_of_values());
  std::vector<double> work;
  for (const Stack stack : {Stack::encoder, Stack::decoder}) {
    const bool crosses = stack == Stack::decoder && config.has(Stack::encoder);
    for (int64_t layer = 0; layer < config.layers_of(stack); ++layer) {
      const double attention =
          number(config.model) * head_widths * (number(config.heads) + number(config.heads_of_keys(layer)));
      const double inner =
          number(config.model) * number(config.inner.of(layer)) * (config.gating == Gating::gated ? 3.0 : 2.0);
      work.push_back((crosses ? 2.0 : 1.0) * attention + inner);
    }
  }
  const int64_t outputs =
      config.architecture == Architecture::encoder ? config.encoder_outputs() : config.target_vocabulary;
  work.back() += number(config.model) * number(outputs);
  return work;
}

// The largest work of a stage, then the sum of squares, so that the others are even too.
struct Cost {
  double largest = std::numeric_limits<double>::infinity(), squares = 0.0;
  auto operator<=>(const Cost&) const = default;  // NOLINT(modernize-use-nullptr): mistakes the default's zero
};

// Ends of `count` ranges of neighbours, none of them empty, at the smallest cost; of equal ones the first.
std::vector<int64_t> cut_evenly(const std::vector<double>& work, int count) {
  const size_t layers = work.size(), stages = static_cast<size_t>(count);
  std::vector<double> before(layers + 1, 0.0);
  for (size_t i = 0; i < layers; ++i) {
    before[i + 1] = before[i] + work[i];
  }
  std::vector<std::vector<Cost>> best(stages + 1, std::vector<Cost>(layers + 1));
  std::vector<std::vector<size_t>> begins(stages + 1, std::vector<size_t>(layers + 1));
  best[0][0] = {0.0, 0.0};
  for (size_t stage = 1; stage <= stages; ++stage) {
    for (size_t end = stage; end <= layers; ++end) {
      for (size_t begin = stage - 1; begin < end; ++begin) {
        const Cost& rest = best[stage - 1][begin];
        const double own = before[end] - before[begin];
        const Cost cost{std::max(rest.largest, own), rest.squares + own * own};
        if (cost < best[stage][end]) {
          best[stage][end] = cost;
          begins[stage][end] = begin;
        }
      }
    }
  }
  std::vector<int64_t> ends(stages);
  for (size_t stage = stages, end = layers; stage > 0; end = begins[stage][end], --stage) {
    ends[stage - 1] = static_cast<int64_t>(end);
  }
  return ends;
}

LayerRange within(int64_t begin, int64_t end, int64_t first, int64_t layers) {
  const int64_t low = std::clamp<int64_t>(begin - first, 0, layers), high = std::clamp<int64_t>(end - first, 0, layers);
  return {static_cast<size_t>(low), static_cast<size_t>(high)};
}

}  // namespace

StagePlan::StagePlan(const ModelConfig& config, int count)
    : encoder_layers_(config.architecture == Architecture::causal_lm ? 0 : config.encoder_layers),
      decoder_layers_(config.architecture == Architecture::encoder ? 0 : config.decoder_layers),
      stream_is_normed_(config.placement == NormPlacement::pre || config.placement == NormPlacement::sandwich) {
  const int64_t layers = encoder_layers_ + decoder_layers_;
  require<ConfigError>(count >= 1 && count <= layers, "layout", "pipeline is {}, but the model has only {} layer{}",
                       count, layers, plural(layers));
  ends_ = cut_evenly(work_of_layers(config), count);
  layers_.reserve(ends_.size());
  int64_t begin = 0;
  for (const int64_t end : ends_) {
    layers_.push_back({within(begin, end, 0, encoder_layers_), within(begin, end, encoder_layers_, decoder_layers_)});
    begin = end;
  }
  const bool whole_stacks = is_whole(0, encoder_layers_) && is_whole(encoder_layers_, layers);
  require<ConfigError>(config.shared_layers == SharedLayers::no || whole_stacks, "layout",
                       "pipeline is {}, but layers that are the same (shared_layers) have to stay in one stage", count);
  require<ConfigError>(
      !config.has_relative_bias() || whole_stacks, "layout",
      "pipeline is {}, but layers that share relative biases (positions \"{}\") have to stay in one stage", count,
      config.positions == Positions::relative_bias ? "relative-bias" : "learned-relative-bias");
  require<ConfigError>(config.skips == Skips::none || whole_stacks, "layout",
                       "pipeline is {}, but layers that add other layers' outputs (skips) have to stay in one stage",
                       count);
  require<ConfigError>(!config.has_value_embeddings() || whole_stacks, "layout",
                       "pipeline is {}, but layers that share tables (value_embeddings) have to stay in one stage",
                       count);
  place_tables(config);
}

// Whether one stage has layers [first, end), counted over both stacks.
bool StagePlan::is_whole(int64_t first, int64_t end) const {
  return first == end || stage_of_layer(first) == stage_of_layer(end - 1);
}

void StagePlan::place_tables(const ModelConfig& config) {
  const int last = count() - 1;
  if (config.architecture == Architecture::seq2seq) {
    const int entry = stage_of_layer(encoder_layers_);
    tables_ = {{Stack::encoder, config.tying == Tying::all ? last : 0, 0},
               {Stack::decoder, config.tying == Tying::none ? entry : last, entry}};
  } else {
    const bool tied = config.tying != Tying::none && config.head == Head::tokens;
    const Stack only = config.architecture == Architecture::encoder ? Stack::encoder : Stack::decoder;
    tables_ = {{only, tied ? last : 0, 0}};
  }
  for (size_t i = 0; i < tables_.size(); ++i) {
    const bool of_target = i == 1;
    const StagePort port{of_target ? BoundaryTensor::target : BoundaryTensor::source,
                         of_target ? StagePort::Rows::target : StagePort::Rows::source};
    if (tables_[i].home != tables_[i].reader) {
      routes_.push_back({port, tables_[i].home, tables_[i].reader});
    }
  }
}

int StagePlan::stage_of_layer(int64_t layer) const {
  return static_cast<int>(std::ranges::upper_bound(ends_, layer) - ends_.begin());
}

std::vector<StagePort> StagePlan::inputs_of(int stage) const {
  if (stage == 0) {
    return {};
  }
  const int64_t first = ends_[static_cast<size_t>(stage) - 1];
  const StagePort::Rows rows =
      first < encoder_layers_ || encoder_layers_ == 0 ? StagePort::Rows::source : StagePort::Rows::target;
  std::vector<StagePort> ports;
  if (first != encoder_layers_) {
    ports.push_back({BoundaryTensor::residual, rows});
    if (stream_is_normed_) {
      ports.push_back({BoundaryTensor::normed, rows});
    }
  }
  if (encoder_layers_ > 0 && first >= encoder_layers_) {
    ports.push_back({BoundaryTensor::memory, StagePort::Rows::source});
  }
  return ports;
}

const StagePlan::Table* StagePlan::table_of(const WeightIdentity& weight) const {
  const auto table = std::ranges::find_if(tables_, [&](const Table& one) { return weight.is_of(one.stack); });
  return is_of_embedding(weight) && table != tables_.end() ? &*table : nullptr;
}

int StagePlan::stage_of(const WeightIdentity& weight) const {
  if (const Table* const table = table_of(weight)) {
    return table->home;
  }
  if (!weight.place.stack) {
    return count() - 1;  // the output projection
  }
  const bool in_encoder = weight.is_of(Stack::encoder);
  const int64_t first = in_encoder ? 0 : encoder_layers_, layers = in_encoder ? encoder_layers_ : decoder_layers_;
  if (!weight.place.layer) {
    return stage_of_layer(weight.has(WeightRole::final_norm) ? first + layers - 1 : first);
  }
  const int64_t layer = *weight.place.layer;
  const bool is_input_norm =
      stream_is_normed_ && weight.has(WeightRole::sublayer_norm) && weight.is_of(Sublayer::self_attention);
  return stage_of_layer(first + (is_input_norm && layer > 0 ? layer - 1 : layer));
}

bool StagePlan::is_routed(const WeightIdentity& weight) const {
  const Table* const table = table_of(weight);
  return table != nullptr && table->home != table->reader;
}

}  // namespace heed
