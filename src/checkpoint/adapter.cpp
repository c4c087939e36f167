#include "checkpoint/adapter.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/system/files.h"
#include "base/system/new_folder.h"
#include "base/text/excerpt.h"
#include "base/text/json_depth.h"
#include "checkpoint/chat_template_file.h"
#include "checkpoint/stored_model.h"
#include "checkpoint/weights.h"
#include "checkpoint/widened_groups.h"
#include "interchange/foreign_source.h"
#include "models/any_model.h"

namespace heed {
namespace {

using nlohmann::json;

constexpr std::string_view kAdapterFormat = "heed-adapter";
constexpr int kAdapterVersion = 1;
constexpr const char* kWeightsChecksum = "heed_checksum";

// into += scale B A, in f32.
void add_product(const std::vector<float>& b, const std::vector<float>& a, int64_t rank, float scale,
                 std::vector<float>& into) {
  const int64_t columns = static_cast<int64_t>(a.size()) / rank;
  const int64_t rows = static_cast<int64_t>(b.size()) / rank;
  for (int64_t row = 0; row < rows; ++row) {
    float* const out = into.data() + row * columns;
    for (int64_t r = 0; r < rank; ++r) {
      const float factor = scale * b[static_cast<size_t>(row * rank + r)];
      const float* const from = a.data() + r * columns;
      for (int64_t c = 0; c < columns; ++c) {
        out[c] += factor * from[c];
      }
    }
  }
}

const StoredTensor& require_shape(const TensorFile& file, const std::string& name, const std::vector<int64_t>& shape) {
  const StoredTensor& tensor = file.at(name);
  require<FormatError>(tensor.shape == shape, file.path().string(), "{}, but the model has [{}]", tensor.text(),
                       fmt::join(shape, ", "));
  return tensor;
}

std::vector<float> read_shaped(const TensorFile& file, const std::string& name, const std::vector<int64_t>& shape) {
  return read_weight(file, require_shape(file, name, shape));
}

// The checksum of the floats that a base's blocks or groups stand for, which older versions recorded.
std::string checksum_of_floats(const ModelFolder& base, const std::shared_ptr<const TensorFile>& stored) {
  return checksum_of_base(is_foreign_model(base.path)
                              ? *open_foreign_weights(read_foreign_model(base.path), BlocksAs::floats)
                              : *with_widened_groups(stored));
}

std::filesystem::path finished_weights(const ModelFolder& folder) {
  require<IoError>(std::filesystem::exists(folder.adapter_weights()), folder.path.string(),
                   "has no adapter.safetensors: the run that trains the adapter has not finished; resume it");
  return folder.adapter_weights();
}

}  // namespace

const std::string& name_there(const std::vector<RenamedWeight>& renamed, const std::string& name) {
  const auto found = std::ranges::find(renamed, name, &RenamedWeight::name);
  return found == renamed.end() ? name : found->there;
}

bool holds_adapter(const ModelFolder& folder) { return std::filesystem::exists(folder.adapter()); }

void save_adapter(const ModelFolder& folder, const AdapterDescription& description) {
  json root{{"format", kAdapterFormat},          {"version", kAdapterVersion},
            {"base", description.base.string()}, {"base_checksum", description.checksum},
            {"rank", description.rank},          {"alpha", description.alpha},
            {"matrices", description.matrices},  {"whole", description.whole}};
  for (const RenamedWeight& one : description.renamed) {
    root["renamed"][one.name] = one.there;
  }
  write_file(folder.adapter(), root.dump(2) + "\n");
}

AdapterDescription load_adapter(const ModelFolder& folder) {
  const std::string where = folder.adapter().string();
  const std::string text = read_file(folder.adapter());
  require_shallow_json(text, where);
  const json root = json::parse(text, nullptr, false);
  require<FormatError>(root.is_object() && root.value("format", json()) == kAdapterFormat, where,
                       "expected a JSON object with \"format\": \"{}\"", kAdapterFormat);
  require<FormatError>(root.value("version", json()) == kAdapterVersion, where, "version {}, but this program reads {}",
                       shown(root.value("version", json()).dump()), kAdapterVersion);
  AdapterDescription description;
  try {
    description.base = root.at("base").get<std::string>();
    description.checksum = root.at("base_checksum").get<std::string>();
    require<FormatError>(root.at("rank").is_number_integer(), where, "\"rank\" is {}, expected an integer",
                         shown(root.at("rank").dump()));
    description.rank = root.at("rank").get<int64_t>();
    description.alpha = root.at("alpha").get<double>();
    description.matrices = root.at("matrices").get<std::vector<std::string>>();
    description.whole = root.at("whole").get<std::vector<std::string>>();
    for (const auto& [name, there] : root.value("renamed", json::object()).get<std::map<std::string, std::string>>()) {
      description.renamed.push_back({name, there});
    }
  } catch (const json::exception&) {
    fail<FormatError>(where, "something is missing or has the wrong type");
  }
  require<FormatError>(description.rank >= 1, where, "\"rank\" is {}, expected at least 1", description.rank);
  require<FormatError>(std::isfinite(description.alpha) && description.alpha > 0.0, where,
                       "\"alpha\" is {}, expected above 0", description.alpha);
  require<FormatError>(!description.matrices.empty(), where, "\"matrices\" names no matrix");
  require<FormatError>(
      !std::filesystem::exists(folder.weights()), folder.path.string(),
      "holds both an adapter (adapter.json) and a plain model (model.safetensors): remove one of them");
  return description;
}

std::string checksum_of_base(const TensorFile& base) {
  const auto found = base.metadata().find(kWeightsChecksum);
  return found == base.metadata().end() ? checksum_of_tensors(base) : found->second;
}

void require_adapter_of(const ModelFolder& folder, const AdapterDescription& description, const Weights& weights) {
  const std::string where = folder.adapter().string();
  const auto require_names = [&](std::string_view key, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const auto weight = std::ranges::find(weights.all(), name, &Weight::name);
      require<FormatError>(weight != weights.all().end(), where,
                           "\"{}\" names '{}', which is not a weight of the model", key, shown(name));
      require<FormatError>(key != "matrices" || is_hidden_matrix(*weight), where,
                           "\"matrices\" names '{}', which is not a matrix of a hidden layer", name);
      require<FormatError>(key != "matrices" || description.rank <= std::min(weight->shape()[0], weight->shape()[1]),
                           where, "\"rank\" is {}, but '{}' is {}", description.rank, name, weight->shape());
      require<FormatError>(std::ranges::count(names, name) == 1, where, "\"{}\" names '{}' twice", key, name);
    }
  };
  require_names("matrices", description.matrices);
  require_names("whole", description.whole);
  std::vector<std::string> renamed;
  std::ranges::transform(description.renamed, std::back_inserter(renamed), &RenamedWeight::name);
  require_names("renamed", renamed);
}

ModelFolder base_of(const ModelFolder& folder, const AdapterDescription& description) {
  // The path from one folder to the other is one without links: "link/.." would not be the folder that holds the link.
  return {(std::filesystem::weakly_canonical(folder.path) / description.base).lexically_normal()};
}

bool has_base(const ModelFolder& folder, const AdapterDescription& description) {
  return has_weights(base_of(folder, description));
}

WidenedWeights open_base(const ModelFolder& folder, const AdapterDescription& description,
                         const std::filesystem::path& base) {
  const ModelFolder recorded = base.empty() ? base_of(folder, description) : ModelFolder{base};
  require<IoError>(has_weights(recorded), folder.path.string(),
                   "is an adapter, and its base is not in {}: put it there, or run heed merge with --model DIR",
                   recorded.path.string());
  const ModelConfig config = load_description(recorded).config;
  const std::shared_ptr<const TensorFile> stored = open_weights(recorded, config);
  verify_checksum(*stored);
  const std::string found = checksum_of_base(*stored);
  const bool is_known = found == description.checksum || checksum_of_floats(recorded, stored) == description.checksum;
  require<FormatError>(is_known, folder.path.string(),
                       "is an adapter for a base whose weights have the checksum {}, but those in {} have {}: it "
                       "belongs to another model",
                       description.checksum, recorded.path.string(), found);
  return widened_weights(stored, config);
}

AdaptedWeights::AdaptedWeights(const ModelFolder& folder, const ModelConfig& config, const AdapterSources& sources)
    : folder_(folder),
      description_(load_adapter(folder)),
      adapter_(sources.file.empty() ? finished_weights(folder) : sources.file),
      base_(open_base(folder, description_, sources.base)) {
  require_checksum(adapter_);
  require_mark(adapter_, folder, config);
  require_enough_tensors(std::ssize(adapter_.tensors()) + std::ssize(base_.floats->tensors()), adapter_.path(), config);
  verify_checksum(adapter_);
}

bool AdaptedWeights::is_whole(const std::string& name) const {
  return std::ranges::count(description_.whole, name) > 0;
}

bool AdaptedWeights::has_adapter(const std::string& name) const {
  return std::ranges::count(description_.matrices, name) > 0;
}

void AdaptedWeights::require_complete(const Weights& weights) const {
  require_adapter_of(folder_, description_, weights);
  std::set<std::string> needed(description_.whole.begin(), description_.whole.end());
  for (const std::string& name : description_.matrices) {
    const AdapterNames names = adapter_names(name);
    needed.insert({names.a, names.b});
  }
  for (const std::string& name : needed) {
    adapter_.at(name);
  }
  for (const StoredTensor& tensor : adapter_.tensors()) {
    require<FormatError>(needed.contains(tensor.name), adapter_.path().string(),
                         "{} belongs to no weight that adapter.json names", tensor.text());
  }
}

std::vector<float> AdaptedWeights::values(const Weight& weight) const {
  const std::vector<int64_t> shape = stored_shape(weight.shape());
  std::vector<float> values = is_whole(weight.name())
                                  ? read_shaped(adapter_, weight.name(), shape)
                                  : read_shaped(*base_.floats, name_there(description_.renamed, weight.name()), shape);
  if (has_adapter(weight.name())) {
    const AdapterNames names = adapter_names(weight.name());
    add_product(read_shaped(adapter_, names.b, {shape[0], description_.rank}),
                read_shaped(adapter_, names.a, {description_.rank, shape[1]}), description_.rank,
                static_cast<float>(description_.scale()), values);
  }
  return values;
}

bool AdaptedWeights::stays_packed(const Weight& weight) const {
  return !is_whole(weight.name()) && base_.is_packed(name_there(description_.renamed, weight.name()));
}

std::unique_ptr<PackedWeight> AdaptedWeights::packed(const Weight& weight, Backend& backend, DType inputs) const {
  const std::string& there = name_there(description_.renamed, weight.name());
  require_shape(*base_.floats, there, stored_shape(weight.shape()));
  return base_.packed(there, backend, inputs);
}

AdapterConfig AdaptedWeights::adapters_beside(const Weights& weights) const {
  AdapterConfig config{.rank = description_.rank, .alpha = description_.alpha, .matrices = {}};
  for (const std::string& name : description_.matrices) {
    if (stays_packed(weights.find(name))) {
      config.matrices.push_back(name);
    }
  }
  config.rank = config.matrices.empty() ? 0 : config.rank;
  return config;
}

std::vector<float> AdaptedWeights::adapter_values(const Weight& weight) const {
  return read_shaped(adapter_, weight.name(), stored_shape(weight.shape()));
}

void load_adapted_weights(const AdaptedWeights& source, Backend& backend, DType precision, Weights& weights) {
  source.require_complete(weights);
  if (const AdapterConfig beside = source.adapters_beside(weights); beside.rank > 0) {
    add_adapters(weights, beside);
  }
  for (Weight& weight : weights.all()) {
    if (!is_adapter(weight) && source.stays_packed(weight)) {
      weight.hold(source.packed(weight, backend, precision));
      continue;
    }
    std::vector<float> values = is_adapter(weight) ? source.adapter_values(weight) : source.values(weight);
    const int64_t columns = weight.shape().columns();
    weight.store(backend, {precision, precision}, [&](int64_t first, int64_t count) {
      return ConstView(values.data() + first * columns, DType::f32, count, columns, columns);
    });
  }
}

void merge_adapter(const ModelFolder& adapter, const std::filesystem::path& base, const ModelFolder& to) {
  const ModelDescription description = load_description(adapter);
  require<ConfigError>(holds_adapter(adapter), adapter.path.string(), "is not an adapter: it has no adapter.json");
  require_no_model(to);
  const Tokenizers tokenizers = load_tokenizers(adapter, description);
  const AdaptedWeights source(adapter, description.config, {.file = {}, .base = base});
  Weights weights;
  const AnyModel model(Scope(weights), description.config);
  source.require_complete(weights);
  std::vector<TensorSource> tensors;
  for (const Weight& weight : weights.all()) {
    tensors.push_back({weight.name(), StoredType::f32, stored_shape(weight.shape()), [&](const ByteSink& sink) {
                         const std::vector<float> values = source.values(weight);
                         sink(std::as_bytes(std::span(values)));
                       }});
  }
  NewFolder folder(to.path);
  write_checked_safetensors(to.weights(), tensors, mark_of(description.config));
  save_description(to, description, tokenizers);
  copy_chat_template(adapter, to);
  folder.keep();
}

}  // namespace heed
