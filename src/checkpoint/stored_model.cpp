#include "checkpoint/stored_model.h"

#include <algorithm>
#include <future>

#include "checkpoint/adapter.h"
#include "checkpoint/weights.h"
#include "checkpoint/widened_groups.h"
#include "interchange/foreign_source.h"

namespace heed {
namespace {

// A layer has more tensors than this.
constexpr int64_t kMinTensorsPerLayer = 4;

std::string_view commands_for(Architecture architecture) {
  switch (architecture) {
    case Architecture::seq2seq:
      return "heed translate, score and evaluate take it";
    case Architecture::causal_lm:
      return "heed generate and heed perplexity take it";
    case Architecture::encoder:
      break;
  }
  return "heed embed takes it, heed classify or heed tag where it has labels, heed fill where it guesses masked tokens";
}

std::shared_ptr<const TensorFile> open_own_weights(const std::filesystem::path& path, const ModelFolder& folder,
                                                   const ModelConfig& config) {
  auto file = std::make_shared<const SafeTensors>(path);
  require_weights_of(*file, folder, config);
  return file;
}

}  // namespace

void require_mark(const TensorFile& weights, const ModelFolder& folder, const ModelConfig& config) {
  for (const auto& [key, expected] : mark_of(config)) {
    const auto found = weights.metadata().find(key);
    require<FormatError>(found == weights.metadata().end() || found->second == expected, folder.config().string(),
                         "its model is not the one whose weights {} holds: put the right one back",
                         weights.path().string());
  }
}

void require_enough_tensors(int64_t tensors, const std::filesystem::path& path, const ModelConfig& config) {
  const int64_t layers = (config.architecture == Architecture::causal_lm ? 0 : config.encoder_layers) +
                         (config.architecture == Architecture::encoder ? 0 : config.decoder_layers);
  require<FormatError>(tensors >= kMinTensorsPerLayer * layers, path.string(),
                       "{} tensors, but the model of {} layers has more: they do not belong together", tensors, layers);
}

void require_weights_of(const TensorFile& weights, const ModelFolder& folder, const ModelConfig& config) {
  require_enough_tensors(std::ssize(weights.tensors()), weights.path(), config);
  require_mark(weights, folder, config);
}

bool has_weights(const ModelFolder& folder) {
  return is_foreign_model(folder.path) || std::filesystem::exists(folder.weights());
}

std::shared_ptr<const TensorFile> open_weights(const ModelFolder& folder, const ModelConfig& config, BlocksAs blocks) {
  if (is_foreign_model(folder.path)) {
    return open_foreign_weights(read_foreign_model(folder.path), blocks);
  }
  auto own = open_own_weights(folder.weights(), folder, config);
  return blocks == BlocksAs::floats ? with_widened_groups(std::move(own)) : own;
}

StoredModel::StoredModel(const ModelFolder& folder, Backend& backend, DType storage,
                         const std::filesystem::path& weights, const ContextOptions& context) {
  const ModelDescription description = load_description(folder);
  const ModelConfig& config = description.config;
  documents_ = description.documents;
  marks_ = description.marks;
  prompts_ = description.prompts;
  decoding_ = description.decoding;
  columns_ = description.columns;
  // A large vocabulary takes longer than weights that stay mapped. Its errors come first, as with one thread.
  std::future<Tokenizers> tokenizers =
      std::async(backend.threads() > 1 ? std::launch::async : std::launch::deferred,
                 [&folder, &description] { return load_tokenizers(folder, description); });
  try {
    hold_weights(folder, config, weights, {backend, storage, context});
  } catch (const Error&) {
    tokenizers.get();
    throw;
  }
  tokenizers_ = tokenizers.get();
}

void StoredModel::hold_weights(const ModelFolder& folder, const ModelConfig& config,
                               const std::filesystem::path& weights, const Use& use) {
  const auto& [backend, storage, context] = use;
  if (holds_adapter(folder)) {
    const AdaptedWeights adapted(folder, config, {.file = weights, .base = {}});
    model_.emplace(Scope(weights_), with_context(config, context, folder.path.string()));
    parameters_ = weights_.elements();
    load_adapted_weights(adapted, backend, storage, weights_);
    return;
  }
  const std::shared_ptr<const TensorFile> file =
      weights.empty() ? open_weights(folder, config) : open_own_weights(weights, folder, config);
  model_.emplace(Scope(weights_), with_context(config, context, folder.path.string()));
  parameters_ = weights_.elements();
  load_weights(file, backend, storage, weights_);
}

const Tokenizer& StoredModel::tokenizer(std::string_view role) const {
  const std::span<const TokenizerRole> roles = tokenizer_roles(config().architecture);
  const auto it = std::ranges::find(roles, role, &TokenizerRole::name);
  ensure(it != roles.end(), "stored model", "{} has no {} tokenizer", describe(config().architecture), role);
  return *tokenizers_[static_cast<size_t>(it - roles.begin())];
}

void require_architecture(const ModelFolder& folder, Architecture architecture) {
  const ModelDescription description = load_description(folder);
  const Architecture found = description.config.architecture;
  require<FormatError>(found == architecture, folder.path.string(), "holds {}, but {} is needed here; {}",
                       describe(found), describe(architecture), commands_for(found));
  require<FormatError>(description.marks.output_layer == OutputLayer::present, folder.path.string(),
                       "was saved without the layer that writes text, to embed texts; heed embed takes it");
}

void StoredModel::unpack_for_products() {
  for (Weight& weight : weights_.all()) {
    const PackedWeight* const packed = weight.value().packed;
    if (packed != nullptr && packed->holds_integers() && weight.use() != WeightUse::table) {
      weight.hold_for_training(weight.take_packed());
    }
  }
}

// Only a few rows of a table are read.
int64_t StoredModel::step_bytes() const {
  int64_t bytes = 0;
  for (const Weight& weight : weights_.all()) {
    bytes += weight.use() == WeightUse::table ? 0 : weight.bytes();
  }
  return bytes;
}

}  // namespace heed
