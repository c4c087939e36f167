// A JSON file of settings, such as config.json: one that is read, and remembers what was, or one that is written.
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
  // What `text` says, as the file `where` would say it.
  ConfigFile(const std::string& text, std::string where);
  // To be written: exchange() adds to it.
  ConfigFile();
  ~ConfigFile();
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;

  const std::string& where() const { return where_; }
  bool is_written() const { return is_written_; }
  std::string content() const;                       // of the whole file
  bool has(std::string_view key) const;              // keys in tables are separated by dots: "rope_scaling.factor"
  bool says_nothing_of(std::string_view key) const;  // not even that it is null

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

  // Reads the value of the key, or writes the value under it. A reader's value is `absent` where the file has none.
  void exchange(std::string_view key, int64_t& value, std::optional<int64_t> absent = {});
  void exchange(std::string_view key, PerLayer<int64_t>& value, std::optional<int64_t> absent = {});
  void exchange(std::string_view key, double& value, std::optional<double> absent = {});
  void exchange(std::string_view key, bool& value, std::optional<bool> absent = {});
  void exchange(std::string_view key, std::string& value, std::optional<std::string> absent = {});
  void exchange(std::string_view key, Probability& value, double absent = 0.0);
  // In a file that is written; keys in tables as above.
  void write(std::string_view key, const nlohmann::json& value);

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
  std::unique_ptr<nlohmann::json> root_;
  bool is_written_ = false;
  std::set<std::string, std::less<>> read_;
  std::vector<SettingOrigin> origins_;
};

}  // namespace heed
