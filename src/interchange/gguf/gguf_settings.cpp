#include "interchange/gguf/gguf_settings.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/text/excerpt.h"

namespace heed {
namespace {

constexpr std::string_view kArchitectureKey = "general.architecture", kTypeKey = "general.type";
constexpr int64_t kLargestSize = int64_t{1} << 40;

void require_model(const GgufMetadata& metadata) {
  const std::string type = metadata.find_text(kTypeKey).value_or("model");
  require<FormatError>(type == "model", metadata.where(), "'{}' is '{}', expected 'model'", kTypeKey, shown(type));
}

}  // namespace

GgufSettings::GgufSettings(const GgufMetadata& metadata) : metadata_(metadata) {
  require_model(metadata);
  architecture_ = metadata.text(kArchitectureKey);
  read_.emplace(kTypeKey);
  note(std::string(kArchitectureKey), metadata.shown_value(kArchitectureKey), {});
}

void GgufSettings::note(const std::string& key, std::string value, std::optional<std::string> absent) {
  if (read_.insert(key).second) {
    const bool is_default = absent.has_value();
    origins_.push_back({std::filesystem::path(where()).filename().string(), key,
                        is_default ? std::move(*absent) : std::move(value), is_default});
  }
}

template <class T>
T GgufSettings::noted(const std::string& key, std::optional<T> found, std::optional<T> absent) {
  require<FormatError>(found || absent, where(), "there is no '{}'", key);
  if (found) {
    note(key, metadata_.shown_value(key), {});
    return std::move(*found);
  }
  note(key, "", fmt::format("{}", *absent));
  return std::move(*absent);
}

int64_t GgufSettings::integer(std::string_view key, std::optional<int64_t> absent) {
  const std::string name = full(key);
  return noted(name, metadata_.find_integer(name), absent);
}

int64_t GgufSettings::size(std::string_view key, std::optional<int64_t> absent) {
  const int64_t size = integer(key, absent);
  require<FormatError>(size > 0 && size < kLargestSize, where(), "'{}' is {}, expected a size above 0", full(key),
                       size);
  return size;
}

double GgufSettings::number(std::string_view key, std::optional<double> absent) {
  const std::string name = full(key);
  const double number = noted(name, metadata_.find_real(name), absent);
  require<FormatError>(std::isfinite(number), where(), "'{}' is {}, which is not finite", name, number);
  return number;
}

std::string GgufSettings::text(std::string_view key, std::optional<std::string> absent) {
  const std::string name = full(key);
  return noted(name, metadata_.find_text(name), std::move(absent));
}

PerLayer<int64_t> GgufSettings::sizes(std::string_view key, int64_t layers, std::optional<int64_t> absent) {
  const std::string name = full(key);
  if (!metadata_.is_list(name)) {
    return size(key, absent);
  }
  std::vector<int64_t> sizes = metadata_.integers(name);
  require<FormatError>(std::ssize(sizes) == layers, where(), "'{}' has {} values for {} layers", name, sizes.size(),
                       layers);
  require<FormatError>(std::ranges::all_of(sizes, [](int64_t n) { return n > 0 && n < kLargestSize; }), where(),
                       "'{}' has a size that is not above 0", name);
  note(name, fmt::format("{}", fmt::join(sizes, " ")), {});
  const bool all_equal = std::ranges::count(sizes, sizes.front()) == layers;
  return all_equal ? PerLayer<int64_t>(sizes.front()) : PerLayer<int64_t>(std::move(sizes));
}

void GgufSettings::require_neutral(std::string_view key, double neutral) {
  const std::string name = full(key);
  if (!metadata_.has(name)) {
    return;
  }
  read_.insert(name);
  const std::string shown_neutral = neutral == 0.0 ? "false" : neutral == 1.0 ? "true" : "";
  const std::string value = metadata_.shown_value(name);
  require<FormatError>(value == fmt::format("{}", neutral) || value == shown_neutral, where(),
                       "'{}' is {}, which heed's form of the model lacks", name, value);
}

void GgufSettings::pass_over(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    for (const std::string& name : metadata_.keys()) {
      if (name == key || (key.ends_with('.') && name.starts_with(key))) {
        read_.insert(name);
      }
    }
  }
}

std::vector<std::string> GgufSettings::unread() const {
  std::vector<std::string> keys;
  std::ranges::copy_if(metadata_.keys(), std::back_inserter(keys),
                       [&](const std::string& key) { return !read_.contains(key); });
  return keys;
}

}  // namespace heed
