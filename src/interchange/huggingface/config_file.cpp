#include "interchange/huggingface/config_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/system/files.h"
#include "base/text/excerpt.h"
#include "base/text/json_depth.h"

namespace heed {
namespace {

using nlohmann::json;

std::unique_ptr<json> parse_object(const std::string& text, const std::string& where) {
  require_shallow_json(text, where);
  auto root = std::make_unique<json>(json::parse(text, nullptr, false));
  require<FormatError>(root->is_object(), where, "is not a JSON object: it was cut off or edited");
  return root;
}

std::string_view first_part(std::string_view key) { return key.substr(0, key.find('.')); }

}  // namespace

ConfigFile::ConfigFile(const std::filesystem::path& path) : ConfigFile(read_file(path), path.string()) {}

ConfigFile::ConfigFile(const std::string& text, std::string where)
    : where_(std::move(where)), root_(parse_object(text, where_)) {}

ConfigFile::ConfigFile() : where_("config.json"), root_(std::make_unique<json>(json::object())), is_written_(true) {}

ConfigFile::~ConfigFile() = default;

const json* ConfigFile::find(std::string_view key) const {
  const json* table = root_.get();
  while (true) {
    const std::string_view name = first_part(key);
    const auto it = table->find(name);
    if (it == table->end() || it->is_null()) {
      return nullptr;
    }
    if (name.size() == key.size()) {
      return &*it;
    }
    if (!it->is_object()) {
      return nullptr;
    }
    table = &*it;
    key.remove_prefix(name.size() + 1);
  }
}

std::string ConfigFile::content() const { return root_->dump(2) + "\n"; }

bool ConfigFile::has(std::string_view key) const { return find(key) != nullptr; }

bool ConfigFile::says_nothing_of(std::string_view key) const { return !root_->contains(key); }

void ConfigFile::note(std::string_view key, std::string value, bool is_default) {
  read_.emplace(key);
  read_.emplace(first_part(key));
  if (std::ranges::find(origins_, key, &SettingOrigin::key) == origins_.end()) {
    origins_.push_back(
        {std::filesystem::path(where_).filename().string(), std::string(key), std::move(value), is_default});
  }
}

const json& ConfigFile::value(std::string_view key, bool fits(const json&), std::string_view expected) {
  const json* const found = find(key);
  require<FormatError>(found != nullptr, where_, "has no \"{}\", expected {}", key, expected);
  require<FormatError>(fits(*found), where_, "\"{}\" is {}, expected {}", key, shown(found->dump()), expected);
  note(key, shown(found->dump()), false);
  return *found;
}

int64_t ConfigFile::integer(std::string_view key, std::optional<int64_t> absent) {
  if (absent && !has(key)) {
    note(key, std::to_string(*absent), true);
    return *absent;
  }
  constexpr int64_t kMost = int64_t{1} << 40;
  const auto is_size = [](const json& x) {
    return x.is_number_integer() &&
           (x.is_number_unsigned() ? x.get<uint64_t>() < static_cast<uint64_t>(kMost) : x.get<int64_t>() > -kMost);
  };
  return value(key, is_size, "an integer").get<int64_t>();
}

double ConfigFile::number(std::string_view key, std::optional<double> absent) {
  if (absent && !has(key)) {
    note(key, fmt::format("{}", *absent), true);
    return *absent;
  }
  return value(
             key, [](const json& x) { return x.is_number(); }, "a number")
      .get<double>();
}

bool ConfigFile::flag(std::string_view key, std::optional<bool> absent) {
  if (absent && !has(key)) {
    note(key, *absent ? "true" : "false", true);
    return *absent;
  }
  return value(
             key, [](const json& x) { return x.is_boolean(); }, "true or false")
      .get<bool>();
}

std::string ConfigFile::text(std::string_view key, std::optional<std::string> absent) {
  if (absent && !has(key)) {
    note(key, fmt::format("\"{}\"", *absent), true);
    return *absent;
  }
  return value(
             key, [](const json& x) { return x.is_string(); }, "a text")
      .get<std::string>();
}

std::vector<std::string> ConfigFile::texts(std::string_view key) {
  if (!has(key)) {
    return {};
  }
  const auto are_texts = [](const json& x) {
    return x.is_array() && std::ranges::all_of(x, [](const json& item) { return item.is_string(); });
  };
  return value(key, are_texts, "a list of texts").get<std::vector<std::string>>();
}

std::vector<int64_t> ConfigFile::integers(std::string_view key) {
  if (!has(key)) {
    return {};
  }
  const auto fits = [](const json& x) {
    return x.is_number_integer() ||
           (x.is_array() && std::ranges::all_of(x, [](const json& item) { return item.is_number_integer(); }));
  };
  const json& found = value(key, fits, "an integer or a list of integers");
  return found.is_array() ? found.get<std::vector<int64_t>>() : std::vector{found.get<int64_t>()};
}

std::vector<std::vector<int64_t>> ConfigFile::integer_lists(std::string_view key) {
  if (!has(key)) {
    return {};
  }
  const auto are_lists = [](const json& x) {
    const auto is_integer = [](const json& item) { return item.is_number_integer(); };
    return x.is_array() && std::ranges::all_of(x, [&](const json& list) {
             return list.is_array() && std::ranges::all_of(list, is_integer);
           });
  };
  return value(key, are_lists, "a list of lists of integers").get<std::vector<std::vector<int64_t>>>();
}

bool ConfigFile::is_text(std::string_view key) const {
  const json* const found = find(key);
  return found != nullptr && found->is_string();
}

std::vector<std::string> ConfigFile::numbered_texts(std::string_view key) {
  const auto fits = [](const json& x) {
    return x.is_object() && std::ranges::all_of(x, [](const json& item) { return item.is_string(); });
  };
  if (!has(key)) {
    return {};
  }
  const json& table = value(key, fits, "a table of texts by their numbers");
  std::vector<std::string> found;
  for (size_t i = 0; i < table.size(); ++i) {
    const auto it = table.find(std::to_string(i));
    require<FormatError>(it != table.end(), where_, "\"{}\" has {} texts, but none for {}", key, table.size(), i);
    found.push_back(it->get<std::string>());
  }
  return found;
}

void ConfigFile::exchange(std::string_view key, int64_t& value, std::optional<int64_t> absent) {
  is_written_ ? write(key, value) : void(value = integer(key, absent));
}

void ConfigFile::exchange(std::string_view key, PerLayer<int64_t>& value, std::optional<int64_t> absent) {
  is_written_ ? write(key, value.of(0)) : void(value = integer(key, absent));
}

void ConfigFile::exchange(std::string_view key, double& value, std::optional<double> absent) {
  is_written_ ? write(key, value) : void(value = number(key, absent));
}

void ConfigFile::exchange(std::string_view key, bool& value, std::optional<bool> absent) {
  is_written_ ? write(key, value) : void(value = flag(key, absent));
}

void ConfigFile::exchange(std::string_view key, std::string& value, std::optional<std::string> absent) {
  is_written_ ? write(key, value) : void(value = text(key, std::move(absent)));
}

void ConfigFile::exchange(std::string_view key, Probability& value, double absent) {
  // With as few digits as tell it from its neighbours in f32.
  is_written_ ? write(key, std::stod(fmt::format("{}", value.value)))
              : void(value = Probability(static_cast<float>(number(key, absent))));
}

void ConfigFile::write(std::string_view key, const json& value) {
  json* table = root_.get();
  for (std::string_view name = first_part(key); name.size() < key.size(); name = first_part(key)) {
    table = &(*table)[std::string(name)];
    key.remove_prefix(name.size() + 1);
  }
  (*table)[std::string(key)] = value;
}

std::string_view ConfigFile::first_of(std::initializer_list<std::string_view> keys) const {
  const auto* const found = std::ranges::find_if(keys, [&](std::string_view key) { return has(key); });
  return found == keys.end() ? *keys.begin() : *found;
}

void ConfigFile::require_flag(std::string_view key, bool needed, std::string_view why) {
  require<FormatError>(flag(key, needed) == needed, where_, "\"{}\" is {}, {}", key, !needed, why);
}

void ConfigFile::pass_over(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    read_.emplace(key);
  }
}

std::vector<std::string> ConfigFile::unread() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : root_->items()) {
    if (!read_.contains(key)) {
      keys.push_back(key);
    }
  }
  return keys;
}

}  // namespace heed
