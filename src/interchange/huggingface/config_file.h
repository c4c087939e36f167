// A JSON file of settings, such as config.json, that remembers what was read from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "interchange/foreign_model.h"

namespace heed {

// Each getter is a FormatError, naming file and key, for a value of another type. A key with null counts as absent.
class ConfigFile {
 public:
  // FormatError unless the file is a JSON object.
  explicit ConfigFile(const std::filesystem::path& path);
  ~ConfigFile();
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;

  const std::string& where() const { return where_; }
  bool has(std::string_view key) const;  // keys in tables are separated by dots: "rope_scaling.factor"

  // FormatError where the key is absent and there is no default.
  int64_t integer(std::string_view key, std::optional<int64_t> absent = {});
  double number(std::string_view key, std::optional<double> absent = {});
  bool flag(std::string_view key, std::optional<bool> absent = {});
  std::string text(std::string_view key, std::optional<std::string> absent = {});
  std::vector<std::string> texts(std::string_view key);                   // empty where absent
  std::vector<int64_t> integers(std::string_view key);                    // a single one counts as a list
  std::vector<std::vector<int64_t>> integer_lists(std::string_view key);  // empty where absent
  bool is_text(std::string_view key) const;
  // The values of a table of texts, in the order of their keys as numbers: {"0": "no", "1": "yes"}.
  std::vector<std::string> numbered_texts(std::string_view key);
  // The first of these keys that is there; the first one if none is.
  std::string_view first_of(std::initializer_list<std::string_view> keys) const;

  // FormatError, saying that heed has no such thing, unless the setting is absent or has this value.
  void require_flag(std::string_view key, bool needed, std::string_view why);
  // Says that a key was looked at, or has no effect on what the model computes.
  void pass_over(std::initializer_list<std::string_view> keys);

  const std::vector<SettingOrigin>& origins() const { return origins_; }
  // The keys that nothing has read.
  std::vector<std::string> unread() const;

 private:
  const nlohmann::json* find(std::string_view key) const;
  const nlohmann::json& value(std::string_view key, bool fits(const nlohmann::json&), std::string_view expected);
  void note(std::string_view key, std::string value, bool is_default);

  std::string where_;
  std::unique_ptr<const nlohmann::json> root_;
  std::set<std::string, std::less<>> read_;
  std::vector<SettingOrigin> origins_;
};

}  // namespace heed
