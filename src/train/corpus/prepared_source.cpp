#include "train/corpus/prepared_source.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <system_error>

#include "base/checksum.h"
#include "base/system/files.h"
#include "base/text/excerpt.h"
#include "train/recipe/chat_recipe.h"
#include "train/recipe/labeled_recipe.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

// Keys of [data] and [tokenizer] that say how tokens become batches, not what they are. All others count, so that a new
// key does too.
constexpr std::array<std::string_view, 19> kOfBatches{
    "data.prepared",
    "data.source_language",  // puts tokens around a sentence's own
    "data.target_language",
    "data.memory_megabytes",
    "data.batch_target_tokens",
    "data.batch_total_tokens",
    "data.batch_sentences",
    "data.batch_sequences",
    "data.pool",
    "data.pool_order",
    "data.context",
    "data.order",
    "data.cross_documents",
    "data.mask_share",
    "data.mask_token_share",
    "data.random_token_share",
    "data.whole_words",
    "tokenizer.source_dropout",  // cuts tokens again, when they are put into a batch
    "tokenizer.target_dropout",
};

// Keys of other tables that say how texts with labels are read.
constexpr std::array<std::string_view, 2> kOfLabels{"model.head", "model.max_length"};

template <class Names>
bool is_among(const Names& names, std::string_view key) {
  return std::ranges::find(names, key) != names.end();
}

bool counts(const Recipe& recipe, std::string_view key) {
  if (key.starts_with("data.") || key.starts_with("tokenizer.")) {
    const bool is_limit = key == "data.context" && recipe.find<ConversationRecipe>() != nullptr;
    return is_limit || !is_among(kOfBatches, key);
  }
  return key == "training.task" || (recipe.find<LabeledRecipe>() != nullptr && is_among(kOfLabels, key));
}

std::map<std::string, std::string> settings_of(const Recipe& recipe) {
  Recipe copy = recipe;
  std::map<std::string, std::string> settings;
  for (const SettingTable& table : recipe_settings(copy)) {
    for (const Setting& setting : table.settings) {
      const std::string key = table.name + "." + setting.name;
      if (counts(recipe, key)) {
        settings[key] = setting.show();
      }
    }
  }
  settings["training.from_tokenizers"] = takes_tokenizers(recipe) ? "true" : "false";
  return settings;
}

int64_t size_of_file(const fs::path& path) { return static_cast<int64_t>(fs::file_size(path)); }

int64_t time_of_file(const fs::path& path) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(fs::last_write_time(path).time_since_epoch()).count();
}

std::string checksum_of_file(const fs::path& path) {
  constexpr size_t kPart = size_t{1} << 22;
  const MappedFile file(path);
  const std::span<const std::byte> bytes(file.data(), file.size());
  Checksum checksum;
  for (size_t begin = 0; begin < bytes.size(); begin += kPart) {
    const auto part = bytes.subspan(begin, std::min(kPart, bytes.size() - begin));
    checksum.add(part);
    file.give_back(part);
  }
  return checksum.text();
}

bool is_file(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none);
}

PreparedSource::File measured(const RecipeFile& file) {
  const auto& [key, name] = file;
  require<ConfigError>(
      name != "-", key,
      "names the standard input (-): a prepared corpus must be able to recognize its text later, so name a file");
  require<IoError>(fs::exists(name), name, "cannot open: there is no such file");
  require<ConfigError>(is_file(name), name,
                       "is not a regular file: a prepared corpus must be able to recognize its text later");
  return {.key = key,
          .name = name,
          .bytes = size_of_file(name),
          .modified = time_of_file(name),
          .checksum = checksum_of_file(name)};
}

// What happened to the file since; nothing where its content is the same.
std::optional<std::string> change_of(const PreparedSource::File& file) {
  if (!is_file(file.name)) {
    return std::nullopt;
  }
  if (const int64_t bytes = size_of_file(file.name); bytes != file.bytes) {
    return fmt::format("{} had {} bytes and has {} now", file.name, file.bytes, bytes);
  }
  if (time_of_file(file.name) != file.modified && checksum_of_file(file.name) != file.checksum) {
    return fmt::format("{} has another content now", file.name);
  }
  return std::nullopt;
}

}  // namespace

PreparedSource source_of(const Recipe& recipe) {
  PreparedSource source{settings_of(recipe), {}};
  const std::vector<RecipeFile> files = recipe.task->files();
  source.files.reserve(files.size());
  for (const RecipeFile& file : files) {
    source.files.push_back(measured(file));
  }
  return source;
}

void require_unchanged(const PreparedSource& source) {
  for (const PreparedSource::File& file : source.files) {
    const std::optional<std::string> change = change_of(file);
    require<ConfigError>(!change && is_file(file.name), file.key, "{}: it changed while it was read",
                         change.value_or(file.name + " is gone"));
  }
}

void require_same_source(const PreparedSource& prepared, const Recipe& recipe, const std::string& where) {
  const std::map<std::string, std::string> now = settings_of(recipe);
  const auto value = [](const std::map<std::string, std::string>& settings, const std::string& key) {
    const auto it = settings.find(key);
    return it == settings.end() ? std::string("nothing") : it->second;
  };
  std::map<std::string, std::string> all = now;
  all.insert(prepared.settings.begin(), prepared.settings.end());
  // The task first: all others follow from it.
  const auto require_same = [&](const std::string& key) {
    const std::string before = value(prepared.settings, key), after = value(now, key);
    require<ConfigError>(before == after, where, "was prepared with {} = {}, but the recipe has {}: prepare it again",
                         key, shown(before), shown(after));
  };
  require_same("training.task");
  for (const auto& entry : all) {
    require_same(entry.first);
  }
  for (const PreparedSource::File& file : prepared.files) {
    if (const std::optional<std::string> change = change_of(file)) {
      fail<ConfigError>(where, "was prepared from another text: {} ({}): prepare it again", *change, file.key);
    }
  }
}

}  // namespace heed
