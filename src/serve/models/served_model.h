// A model with its handle, for requests of all interfaces.
#pragma once

#include <chrono>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "heed/chat.h"
#include "heed/encoder.h"
#include "heed/generator.h"
#include "heed/inspect.h"
#include "heed/translator.h"
#include "serve/models/model_settings.h"

namespace heed::serve {

// The bytes of a model and of what stands beside it: ensemble, draft, shortlist. Folders within a directory do not count,
// and what is missing has none.
int64_t bytes_of_files(const ModelSettings& settings);

// Safe to use from several threads at once. Requests keep it alive until they are done with it.
class ServedModel {
 public:
  // Throws, naming the file, when the directory is incomplete.
  explicit ServedModel(ModelSettings settings);

  const ModelSettings& settings() const { return settings_; }
  const std::string& name() const { return settings_.name; }
  ModelKind kind() const { return kind_; }
  std::time_t created() const { return created_; }
  int64_t bytes() const { return bytes_; }
  int64_t max_length() const;
  Workload workload() const;  // at this moment
  PrefixReport prefixes() const;

  // RequestError, which says what the model is, where it is of another kind.
  const Translator& translator() const;
  // How a translator searches where a request does not say.
  TranslationOptions search_options() const;
  const Generator& generator() const;
  // Any model reads texts; a handle for that is made when it is first needed.
  const Encoder& encoder() const;
  // RequestError where the model has no chat template.
  const ChatFormat& chat() const;
  bool chats() const { return chat_.has_value(); }

 private:
  [[noreturn]] void refuse(std::string_view wanted) const;

  ModelSettings settings_;
  ModelKind kind_;
  int64_t bytes_;
  std::time_t created_ = std::time(nullptr);
  std::optional<Translator> translator_;
  std::optional<Generator> generator_;
  std::optional<ChatFormat> chat_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Encoder> encoder_;
};

}  // namespace heed::serve
