#include "train/starting_model.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "checkpoint/weights.h"
#include "models/config_keys.h"

namespace heed {
namespace {

using nlohmann::json;

// The place among the roles of one architecture of the tokenizer that takes a role in another.
size_t index_of_role(Architecture from, std::string_view role, Architecture to) {
  const std::span<const TokenizerRole> roles = tokenizer_roles(from);
  const auto same = std::ranges::find(roles, role, &TokenizerRole::name);
  if (same != roles.end()) {
    return static_cast<size_t>(same - roles.begin());
  }
  return roles.size() > 1 && to == Architecture::causal_lm ? 1 : 0;
}

// The role of the tokenizer whose tokens are a weight's rows; empty where they are something else.
std::string_view role_of_rows(std::string_view weight, Architecture architecture) {
  if (weight == "source.tokens") {
    return "source";
  }
  if (weight == "target.tokens") {
    return "target";
  }
  if (weight == "output.weight" || weight == "output.bias") {
    return tokenizer_roles(architecture).back().name;
  }
  return weight == "embedding.tokens" ? "text" : "";
}

const TokenizerRole* role_named(std::string_view name, Architecture architecture) {
  const std::span<const TokenizerRole> roles = tokenizer_roles(architecture);
  const auto it = std::ranges::find(roles, name, &TokenizerRole::name);
  return it == roles.end() ? nullptr : &*it;
}

std::optional<TokenId> special_counterpart(const SpecialTokens& own, const SpecialTokens& other, TokenId token) {
  for (TokenId SpecialTokens::*kind :
       {&SpecialTokens::unk, &SpecialTokens::bos, &SpecialTokens::eos, &SpecialTokens::sep, &SpecialTokens::pad}) {
    if (own.*kind == token) {
      return other.*kind;
    }
  }
  return std::nullopt;
}

std::vector<int64_t> extents_of_weight(const Shape& shape) {
  std::vector<int64_t> extents;
  extents.reserve(static_cast<size_t>(shape.rank()));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    extents.push_back(shape[axis]);
  }
  return extents;
}

// A row of a vector is one element.
int64_t row_size(const Shape& shape) { return shape.elements() / shape[0]; }

std::vector<TakenWeights::Difference> differing_settings(ModelConfig there, ModelConfig here) {
  const SettingTable left = model_settings(there), right = model_settings(here);
  std::vector<TakenWeights::Difference> found;
  for (size_t i = 0; i < left.settings.size(); ++i) {
    const Setting &a = left.settings[i], &b = right.settings[i];
    if (a.show() != b.show() && !a.name.ends_with("_vocabulary")) {
      found.push_back({"model." + a.name, a.show(), b.show()});
    }
  }
  return found;
}

}  // namespace

std::vector<int64_t> vocabulary_sizes_of(const ModelFolder& folder, Architecture architecture) {
  const ModelConfig config = load_description(folder).config;
  std::vector<int64_t> sizes;
  for (const TokenizerRole& role : tokenizer_roles(architecture)) {
    const size_t place = index_of_role(config.architecture, role.name, architecture);
    sizes.push_back(config.*tokenizer_roles(config.architecture)[place].vocabulary);
  }
  return sizes;
}

StartingModel::StartingModel(const ModelFolder& folder)
    : folder_(folder),
      description_(load_description(folder)),
      tokenizers_(load_tokenizers(folder, description_)),
      file_(folder.weights()) {
  verify_checksum(file_);
}

Tokenizers StartingModel::tokenizers_for(Architecture architecture) const {
  Tokenizers chosen;
  for (const TokenizerRole& role : tokenizer_roles(architecture)) {
    const size_t place = index_of_role(description_.config.architecture, role.name, architecture);
    chosen.push_back(tokenizers_[place]);
    if (architecture == Architecture::seq2seq) {
      require_sentence_marks(*chosen.back(), folder_.path / description_.tokenizers[place].name);
    }
  }
  return chosen;
}

const Tokenizer& StartingModel::tokenizer(std::string_view role) const {
  return *tokenizers_[index_of_role(description_.config.architecture, role, description_.config.architecture)];
}

std::vector<int32_t> StartingModel::rows_for(const Tokenizer& of_run, const Tokenizer& of_this) const {
  std::vector<int32_t> rows;
  if (of_run.serialize() == of_this.serialize()) {
    return rows;
  }
  for (int32_t id = 0; id < of_run.vocabulary_size(); ++id) {
    const TokenId token{id};
    std::optional<TokenId> found = special_counterpart(of_run.special(), of_this.special(), token);
    if (!found) {
      found = of_this.find(of_run.piece(token));
      const bool is_text = found && !special_counterpart(of_this.special(), of_run.special(), *found);
      found = is_text ? found : std::nullopt;
    }
    rows.push_back(found && *found != kNoToken ? found->value : kNoRow);
  }
  return rows;
}

// Whether there was a row to copy.
bool StartingModel::copy_rows(const StoredTensor& from, const Trainable& to, std::span<const int32_t> rows,
                              TakenWeights::Part& copied) const {
  const std::vector<float> values = read_weight(file_, from);
  const auto width = static_cast<int64_t>(values.size()) / from.shape.front();
  auto* const master = static_cast<float*>(host_address(to.master()));
  copied.of = static_cast<int64_t>(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows[row] != kNoRow) {
      std::copy_n(values.data() + rows[row] * width, width, master + static_cast<int64_t>(row) * width);
      ++copied.rows;
    }
  }
  return copied.rows > 0;
}

TakenWeights StartingModel::copy_to(Backend& backend, Trainables& trainables, const ModelConfig& config,
                                    const Tokenizers& tokenizers) const {
  TakenWeights taken{.directory = folder_.path.string(), .settings = differing_settings(description_.config, config)};
  for (const Weight& weight : trainables.weights().all()) {
    const StoredTensor* const stored = file_.find(weight.name());
    if (stored == nullptr) {
      taken.fresh.push_back({weight.name(), "the other model has no such weight"});
      continue;
    }
    const std::string_view name = role_of_rows(weight.name(), config.architecture);
    const TokenizerRole* const role = role_named(name, config.architecture);
    const TokenizerRole* const other = role_named(name, description_.config.architecture);
    std::vector<int32_t> rows;
    if (role != nullptr && other != nullptr && !stored->shape.empty() &&
        weight.shape()[0] == config.*role->vocabulary &&
        stored->shape.front() == description_.config.*other->vocabulary &&
        stored->elements() / stored->shape.front() == row_size(weight.shape())) {
      rows = rows_for(*tokenizers[index_of_role(config.architecture, name, config.architecture)], tokenizer(name));
    }
    TakenWeights::Part part{.name = weight.name()};
    if (!rows.empty()) {
      if (copy_rows(*stored, weight.trainable(), rows, part)) {
        taken.by_text.push_back(part);
      } else {
        taken.fresh.push_back({weight.name(), "the vocabularies have no token in common"});
      }
    } else if (stored->shape == extents_of_weight(weight.shape())) {
      const std::vector<float> values = read_weight(file_, *stored);
      std::ranges::copy(values, static_cast<float*>(host_address(weight.trainable().master())));
      taken.whole.push_back(weight.name());
    } else {
      taken.fresh.push_back({weight.name(), fmt::format("{} there, F32{} here", stored->text(), weight.shape())});
    }
  }
  for (const StoredTensor& tensor : file_.tensors()) {
    const auto& own = trainables.weights().all();
    if (std::ranges::find(own, tensor.name, &Weight::name) == own.end()) {
      taken.unused.push_back(tensor.name);
    }
  }
  if (taken.whole.empty() && taken.by_text.empty()) {
    const TakenWeights::Reason& first = taken.fresh.front();
    fail<ConfigError>(folder_.path.string(), "none of its weights fits the new model (training.from); {}: {}",
                      first.name, first.why);
  }
  trainables.refresh(backend);
  return taken;
}

std::string TakenWeights::text() const {
  const size_t all = whole.size() + by_text.size() + fresh.size();
  std::string line = fmt::format("{} of {} weights taken from {}", whole.size() + by_text.size(), all, directory);
  if (!by_text.empty()) {
    int64_t rows = 0, of = 0;
    for (const Part& part : by_text) {
      rows += part.rows;
      of += part.of;
    }
    line += fmt::format(", {} of them by their tokens' text ({} of {} rows)", by_text.size(), rows, of);
  }
  line += fmt::format("; {} start from random values, {} of the other model's are unused (metrics.jsonl lists them)",
                      fresh.size(), unused.size());
  std::vector<std::string> differences;
  for (const Difference& d : settings) {
    differences.push_back(fmt::format("{} was {}, is {}", d.key, d.there, d.here));
  }
  return differences.empty() ? line : fmt::format("{}; {}", line, fmt::join(differences, ", "));
}

std::string to_json(const TakenWeights& taken) {
  json by_text = json::array(), fresh = json::array(), settings = json::array();
  for (const TakenWeights::Part& part : taken.by_text) {
    by_text.push_back({{"name", part.name}, {"rows", part.rows}, {"of", part.of}});
  }
  for (const TakenWeights::Reason& reason : taken.fresh) {
    fresh.push_back({{"name", reason.name}, {"why", reason.why}});
  }
  for (const TakenWeights::Difference& d : taken.settings) {
    settings.push_back({{"key", d.key}, {"there", d.there}, {"here", d.here}});
  }
  return json({{"event", "from"},
               {"directory", taken.directory},
               {"whole", taken.whole},
               {"by_text", by_text},
               {"fresh", fresh},
               {"unused", taken.unused},
               {"settings", settings}})
      .dump();
}

}  // namespace heed
