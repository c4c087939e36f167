#include "train/learner/starting_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "checkpoint/adapter.h"
#include "checkpoint/stored_model.h"
#include "checkpoint/weights.h"
#include "kernels/host_copy.h"
#include "models/config_keys.h"

namespace heed {
namespace {

using nlohmann::json;

// The index, among the roles of `from`, of the tokenizer that takes this role in a model of `to`.
size_t index_of_role(Architecture from, std::string_view role, Architecture to) {
  const std::span<const TokenizerRole> roles = tokenizer_roles(from);
  const auto same = std::ranges::find(roles, role, &TokenizerRole::name);
  if (same != roles.end()) {
    return static_cast<size_t>(same - roles.begin());
  }
  return roles.size() > 1 && to == Architecture::causal_lm ? 1 : 0;
}

// The role of the tokenizer whose tokens are a weight's rows; empty where they are something else.
std::string_view role_of_rows(const WeightIdentity& weight, Architecture architecture) {
  if (weight.has(WeightRole::logits)) {
    return tokenizer_roles(architecture).back().name;
  }
  if (!weight.has(WeightRole::token_embedding) && !weight.has(WeightRole::value_embedding)) {
    return "";
  }
  return architecture != Architecture::seq2seq ? "text" : weight.is_of(Stack::encoder) ? "source" : "target";
}

// What a weight of the new model means in another one that has none of its name: an embedding that the same stack
// reads, or else the only table of tokens; of an output projection, the table that is one too. Null: nothing.
const Weight* counterpart_in(const Weights& there, const WeightIdentity& here) {
  const auto first_of = [&](auto matches) {
    const auto it = std::ranges::find_if(there.all(), matches);
    return it == there.all().end() ? nullptr : &*it;
  };
  const auto is_table = [](const Weight& weight) { return weight.identity().has(WeightRole::token_embedding); };
  if (here.has(WeightRole::logits) && here.term == WeightTerm::factor) {
    return first_of([](const Weight& weight) { return weight.use() == WeightUse::product_and_table; });
  }
  if (!is_of_embedding(here)) {
    return nullptr;
  }
  const Weight* const same = first_of([&](const Weight& weight) {
    const WeightIdentity& other = weight.identity();
    return other.place == here.place && other.term == here.term && other.has(here.roles.front().role);
  });
  const bool only_table = same == nullptr && std::ranges::count_if(there.all(), is_table) == 1;
  return only_table && here.has(WeightRole::token_embedding) ? first_of(is_table) : same;
}

// Whether models of this architecture have a setting.
bool has_setting(Architecture architecture, std::string_view name) {
  if (name == "encoder_layers") {
    return architecture != Architecture::causal_lm;
  }
  if (name == "decoder_layers") {
    return architecture != Architecture::encoder;
  }
  const bool of_encoder = name == "head" || name == "labels" || name == "pooling" || name == "token_types" ||
                          name.starts_with("head_layer") || name.starts_with("text_") || name == "embedding_width";
  return architecture == Architecture::encoder || !of_encoder;
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

// The rows of a head are labels.
bool is_head(const Weight& weight) { return weight.identity().has(WeightRole::labels); }

std::shared_ptr<const Weights> registered_weights(const ModelConfig& config) {
  const auto weights = std::make_shared<Weights>();
  const AnyModel model(Scope(*weights), config);
  return weights;
}

// A row of a vector is one element.
int64_t row_size(const Shape& shape) { return shape.elements() / shape[0]; }

std::vector<TakenWeights::Difference> differing_settings(ModelConfig there, ModelConfig here) {
  const SettingTable left = model_settings(there), right = model_settings(here);
  std::vector<TakenWeights::Difference> found;
  for (size_t i = 0; i < left.settings.size(); ++i) {
    const Setting &a = left.settings[i], &b = right.settings[i];
    const bool of_both = has_setting(there.architecture, a.name) && has_setting(here.architecture, a.name);
    if (of_both && a.show() != b.show() && !a.name.ends_with("_vocabulary")) {
      found.push_back({"model." + a.name, a.show(), b.show()});
    }
  }
  return found;
}

WidenedWeights weights_of(const ModelFolder& folder, const ModelConfig& config, StartingWeights accepted) {
  require_whole_model(folder);
  if (accepted == StartingWeights::floats_or_integers) {
    return open_widened_weights(folder, config);
  }
  const std::shared_ptr<const TensorFile> file = open_weights(folder, config, BlocksAs::floats);
  require_not_quantized(*file, ", or train an adapter on top of them ([adapter])");
  return {file, file};
}

}  // namespace

void require_whole_model(const ModelFolder& folder) {
  require<FormatError>(!holds_adapter(folder), folder.path.string(),
                       "holds an adapter, and training.from needs a whole model: heed merge makes one of it");
}

std::vector<int64_t> vocabulary_sizes_of(const ModelFolder& folder, Architecture architecture) {
  const ModelConfig config = load_description(folder).config;
  std::vector<int64_t> sizes;
  for (const TokenizerRole& role : tokenizer_roles(architecture)) {
    const size_t index = index_of_role(config.architecture, role.name, architecture);
    sizes.push_back(config.*tokenizer_roles(config.architecture)[index].vocabulary);
  }
  return sizes;
}

StartingModel::StartingModel(const ModelFolder& folder, StartingWeights accepted)
    : folder_(folder),
      description_(load_description(folder)),
      tokenizers_(load_tokenizers(folder, description_)),
      registered_(registered_weights(description_.config)),
      weights_(weights_of(folder, description_.config, accepted)) {
  verify_checksum(*weights_.stored);
}

Tokenizers StartingModel::tokenizers_for(Architecture architecture) const {
  Tokenizers chosen;
  for (const TokenizerRole& role : tokenizer_roles(architecture)) {
    const size_t index = index_of_role(description_.config.architecture, role.name, architecture);
    chosen.push_back(tokenizers_[index]);
    if (architecture == Architecture::seq2seq) {
      require_sentence_marks(*chosen.back(), folder_.path / description_.tokenizers[index].name,
                             marks_for(architecture));
    }
  }
  return chosen;
}

ModelMarks StartingModel::marks_for(Architecture architecture) const {
  return description_.config.architecture == architecture ? description_.marks : ModelMarks{};
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

// For each row of a head its label's row in this model, or kNoRow; empty where the labels are the same. The head of a
// number has one row, and no label.
std::vector<int32_t> StartingModel::rows_for_labels(const std::vector<std::string>& labels, int64_t count) const {
  const std::vector<std::string>& there = description_.config.labels;
  if (labels == there) {
    return {};
  }
  std::vector<int32_t> rows(static_cast<size_t>(count), kNoRow);
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto it = std::ranges::find(there, labels[i]);
    rows[i] = it == there.end() ? kNoRow : static_cast<int32_t>(it - there.begin());
  }
  return rows;
}

// Where the rows of a weight come from, when they are tokens of two vocabularies or labels of two heads that differ.
std::vector<int32_t> StartingModel::rows_of(const Weight& weight, const Weight& there, const ModelConfig& config,
                                            const Tokenizers& tokenizers) const {
  const StoredTensor& stored = weights_.floats->at(there.name());
  if (weight.identity().has(WeightRole::bigram_embedding)) {
    const bool same_tokens = !tokenizers.empty() && rows_for(*tokenizers.front(), *tokenizers_.front()).empty();
    return same_tokens ? std::vector<int32_t>() : std::vector<int32_t>(static_cast<size_t>(weight.shape()[0]), kNoRow);
  }
  if (is_head(weight)) {
    const bool same_width =
        !stored.shape.empty() && stored.elements() / stored.shape.front() == row_size(weight.shape());
    return same_width ? rows_for_labels(config.labels, weight.shape()[0]) : std::vector<int32_t>();
  }
  const std::string_view name = role_of_rows(weight.identity(), config.architecture);
  const std::string_view name_there = role_of_rows(there.identity(), description_.config.architecture);
  const TokenizerRole* const role = role_named(name, config.architecture);
  const TokenizerRole* const other = role_named(name_there, description_.config.architecture);
  const bool are_tokens = role != nullptr && other != nullptr && !stored.shape.empty() &&
                          weight.shape()[0] == config.*role->vocabulary &&
                          stored.shape.front() == description_.config.*other->vocabulary &&
                          stored.elements() / stored.shape.front() == row_size(weight.shape());
  if (are_tokens && tokenizers.empty()) {
    return std::vector<int32_t>(static_cast<size_t>(weight.shape()[0]), kNoRow);
  }
  return are_tokens ? rows_for(*tokenizers[index_of_role(config.architecture, name, config.architecture)],
                               *tokenizers_[index_of_role(description_.config.architecture, name_there,
                                                          description_.config.architecture)])
                    : std::vector<int32_t>();
}

// The weight of the same name, or else the one that means the same; null: none.
const Weight* StartingModel::counterpart(const Weight& weight) const {
  const auto named = std::ranges::find(registered_->all(), weight.name(), &Weight::name);
  return named != registered_->all().end() ? &*named : counterpart_in(*registered_, weight.identity());
}

TakenWeights StartingModel::match(const Weights& weights, const ModelConfig& config,
                                  const Tokenizers& tokenizers) const {
  TakenWeights taken{.directory = folder_.path.string(), .settings = differing_settings(description_.config, config)};
  for (const Weight& weight : weights.all()) {
    if (is_adapter(weight)) {
      continue;
    }
    const Weight* const there = counterpart(weight);
    const StoredTensor* const stored = there == nullptr ? nullptr : weights_.floats->find(there->name());
    if (stored == nullptr) {
      taken.fresh.push_back({weight.name(), "the other model has no such weight"});
      continue;
    }
    std::vector<int32_t> rows = rows_of(weight, *there, config, tokenizers);
    const bool is_of_bigrams = weight.identity().has(WeightRole::bigram_embedding);
    const bool by_row = !rows.empty(), fits = by_row || stored->shape == stored_shape(weight.shape());
    const auto known = static_cast<int64_t>(rows.size()) - std::ranges::count(rows, kNoRow);
    if (known > 0) {
      taken.by_text.push_back({weight.name(), known, std::move(rows)});
    } else if (by_row) {
      taken.fresh.push_back({weight.name(), is_head(weight)      ? "the heads have no label in common"
                                            : tokenizers.empty() ? "the new vocabulary is not known yet"
                                            : is_of_bigrams      ? "its rows are pairs of another vocabulary's tokens"
                                                                 : "the vocabularies have no token in common"});
    } else if (fits) {
      taken.whole.push_back(weight.name());
    } else {
      taken.fresh.push_back({weight.name(), fmt::format("{} there, F32{} here", stored->text(), weight.shape())});
    }
    if (stored->name != weight.name() && (known > 0 || (!by_row && fits))) {
      taken.renamed.push_back({weight.name(), stored->name});
    }
  }
  for (const StoredTensor& tensor : weights_.floats->tensors()) {
    if (std::ranges::find(weights.all(), tensor.name, &Weight::name) == weights.all().end() &&
        std::ranges::find(taken.renamed, tensor.name, &RenamedWeight::there) == taken.renamed.end()) {
      taken.unused.push_back(tensor.name);
    }
  }
  if (taken.whole.empty() && taken.by_text.empty() && !tokenizers.empty()) {
    const TakenWeights::Reason& first = taken.fresh.front();
    fail<ConfigError>(folder_.path.string(), "none of its weights fits the new model (training.from); {}: {}",
                      first.name, first.why);
  }
  return taken;
}

void StartingModel::copy(const TakenWeights& taken, Backend& backend, Trainables& trainables) const {
  for (size_t i = 0; i < trainables.weights().all().size(); ++i) {
    const Weight& weight = trainables.weights().all()[i];
    const auto part = std::ranges::find(taken.by_text, weight.name(), &TakenWeights::CopiedRows::name);
    if (std::ranges::count(taken.whole, weight.name()) == 0 && part == taken.by_text.end()) {
      continue;
    }
    const std::string& there = name_there(taken.renamed, weight.name());
    if (!weight.has_trainable()) {
      weights_.store_base(there, backend, trainables, i);
      continue;
    }
    std::vector<float> values = read_weight(*weights_.floats, weights_.floats->at(there));
    const int64_t width = row_size(weight.shape());
    HostRoom room(backend, weight.trainable().master(), HostRoom::Holds::values);
    float* const master = host<float>(room.view()).data;
    if (part == taken.by_text.end()) {
      std::ranges::copy(values, master);
      room.put();
      continue;
    }
    for (size_t row = 0; row < part->from.size(); ++row) {
      if (part->from[row] != kNoRow) {
        std::copy_n(values.data() + part->from[row] * width, width, master + static_cast<int64_t>(row) * width);
      }
    }
    room.put();
  }
  trainables.refresh(backend);
}

StartingWeights starting_weights(const AdapterConfig& adapter) {
  return adapter.rank > 0 ? StartingWeights::floats_or_integers : StartingWeights::floats;
}

std::string frozen_at_random(const TakenWeights& taken, const Weights& weights,
                             const std::vector<WeightTreatment>& treatments) {
  std::vector<std::string> names;
  for (size_t i = 0; i < treatments.size(); ++i) {
    const std::string& name = weights.all()[i].name();
    const auto part = std::ranges::find(taken.by_text, name, &TakenWeights::CopiedRows::name);
    if (treatments[i] != WeightTreatment::frozen) {
      continue;
    }
    if (std::ranges::find(taken.fresh, name, &TakenWeights::Reason::name) != taken.fresh.end()) {
      names.push_back(name);
    } else if (part != taken.by_text.end() && part->rows < std::ssize(part->from)) {
      names.push_back(fmt::format("{} of {} rows of {}", std::ssize(part->from) - part->rows, part->from.size(), name));
    }
  }
  return names.empty() ? ""
                       : fmt::format("training.freeze keeps random values that {} lacks: {}", taken.directory,
                                     fmt::join(names, ", "));
}

std::string TakenWeights::text(std::string_view listed_in) const {
  const size_t all = whole.size() + by_text.size() + fresh.size();
  std::string line = fmt::format("{} of {} weights taken from {}", whole.size() + by_text.size(), all, directory);
  if (!by_text.empty()) {
    int64_t rows = 0, of = 0;
    for (const CopiedRows& copied : by_text) {
      rows += copied.rows;
      of += static_cast<int64_t>(copied.from.size());
    }
    line += fmt::format(", {} of them by the text of their tokens or labels ({} of {} rows)", by_text.size(), rows, of);
  }
  std::vector<std::string> names;
  for (const RenamedWeight& one : renamed) {
    names.push_back(fmt::format("{} from {}", one.name, one.there));
  }
  line +=
      names.empty() ? "" : fmt::format(", {} of them under another name ({})", names.size(), fmt::join(names, ", "));
  line += fmt::format("; {} start from random values, {} of the other model's are unused", fresh.size(), unused.size());
  line += listed_in.empty() ? "" : fmt::format(" ({} lists them)", listed_in);
  std::vector<std::string> differences;
  for (const Difference& d : settings) {
    differences.push_back(fmt::format("{} was {}, is {}", d.key, d.there, d.here));
  }
  return differences.empty() ? line : fmt::format("{}; {}", line, fmt::join(differences, ", "));
}

std::string to_json(const TakenWeights& taken) {
  json by_text = json::array(), renamed = json::array(), fresh = json::array(), settings = json::array();
  for (const TakenWeights::CopiedRows& copied : taken.by_text) {
    by_text.push_back({{"name", copied.name}, {"rows", copied.rows}, {"of", copied.from.size()}});
  }
  for (const RenamedWeight& one : taken.renamed) {
    renamed.push_back({{"name", one.name}, {"there", one.there}});
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
               {"renamed", renamed},
               {"fresh", fresh},
               {"unused", taken.unused},
               {"settings", settings}})
      .dump();
}

}  // namespace heed
