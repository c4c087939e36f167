#include "driver_request.h"

#include <array>
#include <fstream>

#include "base/system/files.h"
#include "models/config_keys.h"

namespace heed::parity {
namespace {

using nlohmann::json;

json read_json(const std::string& path) {
  std::ifstream file(path);
  require<IoError>(file.is_open(), path, "cannot be opened");
  return json::parse(file);
}

// A rectangular batch as it came: [sequences, width], of which lengths[s] tokens are real.
struct Rectangle {
  int64_t width;
  std::vector<int64_t> lengths;
  std::vector<int32_t> tokens;
  std::vector<int32_t> types;  // of the tokens; empty: all 0

  explicit Rectangle(const json& j)
      : width(j.at("width")),
        lengths(j.at("lengths")),
        tokens(j.at("tokens")),
        types(j.value("types", std::vector<int32_t>())) {}

  Sequences sequences(Layout layout) const {
    Sequences kept = of_layout(tokens, layout);
    if (!types.empty()) {
      const Sequences kept_types = of_layout(types, layout);
      kept.set_types({kept_types.tokens().ids().begin(), kept_types.tokens().ids().end()});
    }
    return kept;
  }

  Sequences of_layout(const std::vector<int32_t>& padded, Layout layout) const {
    const std::vector<int64_t> all(lengths.size(), width);
    return Sequences::without_padding(padded, width, layout == Layout::ragged ? lengths : all);
  }
};

// One for each token, or for each text.
Targets expected_of(const json& j, const Rectangle& target, Layout layout) {
  if (j.size() == target.lengths.size()) {
    return Targets(j.get<std::vector<int32_t>>());
  }
  const Sequences kept = target.of_layout(j, layout);
  return Targets({kept.tokens().ids().begin(), kept.tokens().ids().end()});
}

std::unique_ptr<Masks> masks_of(const PairBatch& pairs, const Rectangle& source, const Rectangle& target) {
  const Segments& from = pairs.source.segments();
  const Segments& to = pairs.target.segments();
  return std::make_unique<Masks>(Masks{
      .encoder_self = padding_mask(from, from, source.lengths),
      .decoder_self = combine(causal_mask(to), padding_mask(to, to, target.lengths)),
      .cross = padding_mask(to, from, source.lengths),
  });
}

std::unique_ptr<Batch> batch_of(const json& j, Layout layout) {
  const Rectangle target(j.at("target"));
  // A model of one stream has no source; its encoder's mask is over its only stream.
  const Rectangle source(j.contains("source") ? j.at("source") : j.at("target"));
  auto batch = std::make_unique<Batch>();
  const Targets expected = expected_of(j.at("expected"), target, layout);
  batch->pairs = {SourceSequences(source.sequences(layout)), TargetSequences(target.sequences(layout)), expected};
  batch->tokens = {batch->pairs.target, expected};
  if (j.contains("values")) {
    batch->valued = ValuedBatch{batch->pairs.target, {j.at("values"), j.at("labels")}};
  }
  if (layout == Layout::padded) {
    batch->masks = masks_of(batch->pairs, source, target);
  }
  return batch;
}

Steps steps_of(const json& j) {
  return {
      .count = j.at("count"),
      .learning_rate = j.at("learning_rate"),
      .optimizer = {.kind = j.at("decay") == "coupled" ? OptimizerKind::adam : OptimizerKind::adamw,
                    .beta1 = j.at("beta1"),
                    .beta2 = j.at("beta2"),
                    .epsilon = j.at("epsilon"),
                    .weight_decay = j.at("weight_decay"),
                    .decay = DecayedWeights::all,
                    .max_norm = j.at("max_norm")},
  };
}

void set_master(View master, const std::vector<float>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (master.type() == DType::f64) {
      host<double>(master).data[i] = static_cast<double>(values[i]);
    } else {
      host<float>(master).data[i] = values[i];
    }
  }
}

}  // namespace

Request read_request(const std::string& folder) {
  ModelConfig config;
  read_settings(read_file(folder + "/model.toml"), "model.toml", std::array{model_settings(config)});
  config.validate();
  const json j = read_json(folder + "/request.json");
  Request request{
      .config = config,
      .precision = j.at("precision"),
      .loss_path = j.at("loss_path") == "fused" ? LossPath::fused : LossPath::of_logits,
      .smoothing = Smoothing(j.at("smoothing").get<float>()),
      .seed = j.at("seed"),
      .batches = {},
      .steps = {},
      .weights = j.at("weights"),
  };
  for (const json& batch : j.at("batches")) {
    request.batches.push_back(batch_of(batch, j.at("layout") == "ragged" ? Layout::ragged : Layout::padded));
  }
  if (j.contains("steps")) {
    request.steps = steps_of(j.at("steps"));
  }
  return request;
}

void read_weights(const std::string& folder, const Request& request, Backend& backend, Trainables& trainables) {
  const Weights& weights = trainables.weights();
  require<FormatError>(request.weights.size() == weights.all().size(), "weights", "{} for a model of {}",
                       request.weights.size(), weights.all().size());
  std::ifstream file(folder + "/weights.bin", std::ios::binary);
  for (const json& entry : request.weights) {
    const Weight& weight = weights.find(entry.at("name").get<std::string>());
    const std::vector<int64_t> extents = entry.at("shape");
    const Shape shape = extents.size() == 1 ? Shape{extents[0]} : Shape{extents[0], extents[1]};
    require<FormatError>(shape == weight.shape(), "weights", "{} is {}, expected {}", weight.name(), shape,
                         weight.shape());
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    const auto bytes = static_cast<std::streamsize>(values.size() * sizeof(float));
    file.read(reinterpret_cast<char*>(values.data()), bytes);
    require<FormatError>(file.gcount() == bytes, "weights", "{} ends after {} of {} bytes", weight.name(),
                         file.gcount(), bytes);
    set_master(weight.trainable().master(), values);
  }
  trainables.refresh(backend);
}

}  // namespace heed::parity
