#include "serve/models/served_model.h"

#include <filesystem>
#include <utility>

#include "base/errors.h"
#include "serve/request_error.h"

namespace heed::serve {
namespace {

int64_t bytes_at(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    return std::filesystem::exists(path) ? static_cast<int64_t>(std::filesystem::file_size(path)) : 0;
  }
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    bytes += entry.is_regular_file() ? static_cast<int64_t>(entry.file_size()) : 0;
  }
  return bytes;
}

// Only conversations need one.
std::optional<ChatFormat> chat_format(const std::string& directory) {
  try {
    return ChatFormat(directory);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace

int64_t bytes_of_files(const ModelSettings& settings) {
  int64_t bytes = bytes_at(settings.directory) + bytes_at(settings.shortlist) + bytes_at(settings.drafts.model);
  for (const std::string& member : settings.inference.ensemble) {
    bytes += bytes_at(member);
  }
  return bytes;
}

ServedModel::ServedModel(ModelSettings settings)
    : settings_(std::move(settings)), kind_(kind_of_model(settings_.directory)), bytes_(bytes_of_files(settings_)) {
  const std::string& directory = settings_.directory;
  if (kind_ == ModelKind::translator) {
    translator_.emplace(directory, settings_.inference, settings_.drafts, settings_.shortlist);
  } else if (kind_ == ModelKind::language_model) {
    generator_.emplace(directory, settings_.inference, settings_.drafts);
    chat_ = chat_format(directory);
  } else {
    require<ConfigError>(settings_.drafts.by == Drafts::none, settings_.name,
                         "has drafts, but an encoder writes nothing");
    encoder_ = std::make_unique<Encoder>(directory, settings_.inference);
  }
}

int64_t ServedModel::max_length() const {
  return translator_ ? translator_->max_length() : generator_ ? generator_->max_length() : encoder().max_length();
}

Workload ServedModel::workload() const {
  return translator_ ? translator_->workload() : generator_ ? generator_->workload() : encoder().workload();
}

PrefixReport ServedModel::prefixes() const { return generator_ ? generator_->prefixes() : PrefixReport{}; }

const Translator& ServedModel::translator() const {
  return translator_ ? *translator_ : (refuse("a translator"), *translator_);
}

TranslationOptions ServedModel::search_options() const {
  TranslationOptions options = translator().with_defaults();
  options.beam = settings_.beam > 0 ? settings_.beam : options.beam;
  return options;
}

const Generator& ServedModel::generator() const {
  return generator_ ? *generator_ : (refuse("a language model"), *generator_);
}

const Encoder& ServedModel::encoder() const {
  const std::lock_guard lock(mutex_);
  if (!encoder_) {
    encoder_ = std::make_unique<Encoder>(settings_.directory, settings_.inference);
  }
  return *encoder_;
}

const ChatFormat& ServedModel::chat() const {
  generator();
  if (!chat_) {
    throw RequestError(400, "model", fmt::format("model: '{}' has no chat template", name()));
  }
  return *chat_;
}

void ServedModel::refuse(std::string_view wanted) const {
  constexpr std::array<std::string_view, 3> kKinds{"a translator", "a language model", "an encoder"};
  throw RequestError(
      400, "model",
      fmt::format("model: '{}' is {}, but {} is needed here", name(), kKinds[static_cast<size_t>(kind_)], wanted));
}

}  // namespace heed::serve
