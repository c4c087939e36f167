#include "heed/inspect.h"

#include <algorithm>
#include <deque>

#include "api/inspect/inspected_model.h"
#include "checkpoint/adapter.h"
#include "checkpoint/stored_weight.h"
#include "models/any_model.h"

namespace heed {
namespace {

// A model's weights, for their shapes.
class Measured {
 public:
  Measured(const ModelConfig& config, const InspectedModel& model) {
    const AnyModel shapes(Scope(weights_), config);
    start_ = weights_at_start(model, config, weights_);
    if (model.adapter) {
      add_adapter(*model.adapter);
    }
  }

  bool is_frozen(size_t weight) const {
    return !start_.treatments.empty() && start_.treatments[weight] != WeightTreatment::trained;
  }
  const WeightsAtStart& start() const { return start_; }

  const std::deque<Weight>& weights() const { return weights_.all(); }

 private:
  // What a directory's adapter trained, beside its base.
  void add_adapter(const ModelFolder& folder) {
    const AdapterDescription description = load_adapter(folder);
    require_adapter_of(folder, description, weights_);
    add_adapters(weights_, {.rank = description.rank, .alpha = description.alpha, .matrices = description.matrices});
    for (const Weight& weight : weights_.all()) {
      const bool of_base = !is_adapter(weight) && std::ranges::count(description.whole, weight.name()) == 0;
      start_.treatments.push_back(of_base ? WeightTreatment::of_base : WeightTreatment::trained);
    }
  }

  Weights weights_;
  WeightsAtStart start_;
};

// The shape, with the vocabulary's name in place of the extents that differ in `larger`.
std::string named_shape(const Shape& shape, const Shape& larger, const std::string& vocabulary) {
  std::vector<std::string> extents;
  extents.reserve(static_cast<size_t>(shape.rank()));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    extents.push_back(shape[axis] == larger[axis] ? fmt::format("{}", shape[axis]) : vocabulary);
  }
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

// Names the vocabulary in the parameters whose shape depends on it.
void mark(std::vector<ParameterInfo>& parameters, const Measured& small, const Measured& large,
          const std::string& vocabulary) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Shape &shape = small.weights()[i].shape(), &larger = large.weights()[i].shape();
    if (shape != larger) {
      parameters[i].shape = named_shape(shape, larger, vocabulary);
      parameters[i].count = {larger.elements() - shape.elements(), vocabulary};
    }
  }
}

void validate(const ModelConfig& config, const std::string& path) {
  try {
    config.validate();
  } catch (const ConfigError& error) {
    fail<ConfigError>(path, "{}", error.what());
  }
}

// Vocabularies of size 0 are unknown. They get one token; comparing with one more token shows what depends on them.
void add_parameters(const InspectedModel& model, const std::string& path, ModelSummary& summary) {
  ModelConfig config = model.config;
  std::vector<std::vector<VocabularyKey>> unknown;  // those in one vector share a vocabulary
  for (const VocabularyKey& one : vocabularies_of(config)) {
    if (*one.size == 0) {
      *one.size = 1;
      if (unknown.empty() || config.tying != Tying::all) {
        unknown.emplace_back();
      }
      unknown.back().push_back(one);
    }
  }
  validate(config, path);
  const Measured small(config, model);
  if (model.from != nullptr) {
    summary.notes.push_back(small.start().taken.text());
    if (!small.start().warning.empty()) {
      summary.notes.push_back(small.start().warning);
    }
  }
  std::vector<ParameterInfo>& parameters = summary.parameters;
  for (const Weight& weight : small.weights()) {
    const bool trained = !small.is_frozen(parameters.size());
    parameters.push_back({.name = weight.name(),
                          .shape = weight.shape().text(),
                          .count = {weight.shape().elements(), ""},
                          .trained = trained});
  }
  for (const std::vector<VocabularyKey>& one : unknown) {
    std::ranges::for_each(one, [](const VocabularyKey& part) { ++*part.size; });
    mark(parameters, small, Measured(config, model), one.size() == 1 ? one.front().key : "vocabulary");
    std::ranges::for_each(one, [](const VocabularyKey& part) { --*part.size; });
  }
}

std::vector<ParameterCount> counts_of(const std::vector<ParameterInfo>& parameters) {
  std::vector<ParameterCount> counts{{}};
  for (const ParameterInfo& parameter : parameters) {
    auto it = std::ranges::find(counts, parameter.count.vocabulary, &ParameterCount::vocabulary);
    if (it == counts.end()) {
      it = counts.insert(counts.end(), {0, parameter.count.vocabulary});
    }
    it->elements += parameter.count.elements;
  }
  return counts;
}

std::string describe_adapter(const ModelFolder& folder) {
  const AdapterDescription adapter = load_adapter(folder);
  const ModelFolder base = base_of(folder, adapter);
  return fmt::format("adapter of rank {} and alpha {} for {} matri{}; base {}{}", adapter.rank, adapter.alpha,
                     adapter.matrices.size(), adapter.matrices.size() == 1 ? "x" : "ces", base.path.string(),
                     has_base(folder, adapter) ? "" : ", which is not there");
}

// How the weights are stored. An adapter's file has those alone that were trained.
void add_types(const TensorFile& file, std::vector<ParameterInfo>& parameters) {
  for (ParameterInfo& parameter : parameters) {
    if (!parameter.trained) {
      continue;
    }
    const StoredTensor& tensor = file.at(parameter.name);
    parameter.type = name_of_stored(tensor, file);
    parameter.bytes = stored_bytes(tensor, file);
  }
}

}  // namespace

ModelSummary inspect_recipe(const std::string& path, const std::vector<std::string>& overrides) {
  const InspectedModel model = inspected_model(path, overrides);
  ModelSummary summary{
      .architecture = describe(model.config), .notes = model.notes, .parameters = {}, .trained = {}, .counts = {}};
  if (model.adapter) {
    summary.notes.push_back(describe_adapter(*model.adapter));
  }
  add_parameters(model, path, summary);
  summary.counts = counts_of(summary.parameters);
  const std::filesystem::path weights = model.adapter ? model.adapter->adapter_weights() : model.weights;
  if (model.foreign != nullptr) {
    add_types(*model.foreign, summary.parameters);
    for (ParameterInfo& parameter : summary.parameters) {
      parameter.from = fmt::format("{}", fmt::join(model.foreign->sources_of(parameter.name), " + "));
    }
  } else if (!weights.empty() && std::filesystem::exists(weights)) {
    add_types(SafeTensors(weights), summary.parameters);
  }
  std::vector<ParameterInfo> trained = summary.parameters;
  std::erase_if(trained, [](const ParameterInfo& parameter) { return !parameter.trained; });
  if (trained.size() < summary.parameters.size()) {
    summary.trained = counts_of(trained);
  }
  return summary;
}

}  // namespace heed
