// Settings of a run: values by name, in tables of a TOML file, and from "table.name=value" on a command line.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/errors.h"
#include "base/text/names.h"
#include "heed/types/names.h"

namespace heed {

using SettingValue = std::variant<int64_t, double, bool, std::string, std::vector<std::string>, std::vector<int64_t>,
                                  std::vector<double>>;
// list: of texts; integers and numbers: one or a list of several.
enum class SettingType : uint8_t { integer, number, flag, text, list, integers, numbers };
// For messages: what a value must be.
std::string_view describe(SettingType type);

// One setting. The variable that it sets must outlive it.
struct Setting {
  std::string name;
  SettingType type = SettingType::text;
  std::function<void(const std::string& where, const SettingValue& value)> set;
  std::function<std::string()> show;  // as TOML
  std::string former;                 // an earlier name, still accepted in files; empty: none
  std::string absent;                 // what files from before this setting mean, as TOML; empty: all files have it
  // Calls `change` with each name of a file or a folder that the setting holds; empty: the setting names none.
  std::function<void(const std::function<void(std::string& name)>& change)> change_files;

  bool is_called(std::string_view key) const { return key == name || (!former.empty() && key == former); }
};

// The setting, which files may also have under a former name.
Setting formerly(std::string former, Setting setting);
// A setting that older model files lack: for them it is `absent`, written as show() writes it, which must be the
// default.
Setting added(std::string absent, Setting setting);

Setting setting(std::string name, int64_t& value);
Setting setting(std::string name, double& value);
Setting setting(std::string name, bool& value);
Setting setting(std::string name, std::string& value);
Setting setting(std::string name, std::vector<std::string>& value);

// Names of files or folders.
Setting file_setting(std::string name, std::string& value);
Setting file_setting(std::string name, std::vector<std::string>& value);

// One value as itself, several as a list.
std::string as_toml(const std::vector<int64_t>& values);
std::string as_toml(const std::vector<double>& values);

template <class Value>
using ValueNames = std::vector<std::pair<std::string_view, Value>>;

// One of a few values, chosen by name.
template <class Value>
Setting choice(std::string name, Value& value, ValueNames<Value> names) {
  const auto set = [&value, names, name](const std::string& where, const SettingValue& found) {
    value = value_named(where + ": " + name, std::get<std::string>(found), names);
  };
  const auto show = [&value, names] {
    return fmt::format("\"{}\"", std::ranges::find(names, value, &std::pair<std::string_view, Value>::second)->first);
  };
  return {std::move(name), SettingType::text, set, show};
}

// The same, from an enum's own table.
template <class Value, size_t kCount>
Setting choice(std::string name, Value& value, const std::array<NamedValue<Value>, kCount>& names) {
  return choice(std::move(name), value, ValueNames<Value>(names.begin(), names.end()));
}

// An enum of two values, one of which is written as true.
template <class Value>
Setting flag(std::string name, Value& value, Value off, Value on) {
  return {std::move(name), SettingType::flag,
          [=, &value](const std::string&, const SettingValue& found) { value = std::get<bool>(found) ? on : off; },
          [=, &value] { return value == on ? "true" : "false"; }};
}

// A key that the table has only in other recipes: rejected as unknown, and the error says `why`.
struct ForeignKey {
  std::string name, why;
};

struct SettingTable {
  std::string name;
  std::vector<Setting> settings;
  std::vector<ForeignKey> foreign;
};

// The names of the tables in a group: "a" and "b" where the text has [model.a] and [model.b]. FormatError for text that is
// not TOML.
std::vector<std::string> table_names(std::string_view toml, std::string_view file, std::string_view group);

// One of the tables [[list]] of a text, counted from 0. The tables that are in it are laid over those of the text, key
// by key; the list itself and the tables in `apart` then count as if they were not there.
struct ListedTable {
  std::string_view list;
  size_t number = 0;
  std::vector<std::string_view> apart;
};

// Sets what a TOML text holds, a table of a group being called "model.a", and returns the names of the tables that it
// has. ConfigError, with file and line, for an unknown table or key (naming the nearest valid one) and for a value of
// the wrong type; FormatError for text that is not TOML. A top-level `description` is ignored.
std::vector<std::string> read_settings(std::string_view toml, std::string_view file,
                                       std::span<const SettingTable> tables, const ListedTable* over = nullptr);

// The same, but skips what is not in the tables: for settings that decide which other tables there are.
void read_known_settings(std::string_view toml, std::string_view file, std::span<const SettingTable> tables,
                         const ListedTable* over = nullptr);

// How many tables [[list]] a text has; 0 also where it has no such key. ConfigError where that is something else.
size_t count_listed(std::string_view toml, std::string_view file, std::string_view list);
// The keys of a listed table itself, for which `table` is named as messages are to name it.
enum class InnerTables : uint8_t { skipped, refused };
void read_listed(std::string_view toml, std::string_view file, const ListedTable& listed, const SettingTable& table,
                 InnerTables inner);
// The same, but skips unknown keys.
void read_known_listed(std::string_view toml, std::string_view file, const ListedTable& listed,
                       const SettingTable& table);
// All texts that are somewhere in a listed table.
std::vector<std::string> texts_in_listed(std::string_view toml, std::string_view file, const ListedTable& listed);
// The keys of a table whose names are the user's own, and their values, which must be texts.
std::vector<std::pair<std::string, std::string>> read_names(std::string_view toml, std::string_view file,
                                                            std::string_view table);

// Sets one value from "table.name=value". A text needs no quotes; a list is separated by commas, or a TOML array.
void override_setting(std::string_view assignment, std::span<const SettingTable> tables);
void override_known_setting(std::string_view assignment, std::span<const SettingTable> tables);

// A text, and a list of them, as values of TOML.
std::string in_quotes(const std::string& text);
std::string in_quotes(const std::vector<std::string>& texts);

// All values as TOML, which read_settings() reads back.
std::string to_toml(std::span<const SettingTable> tables);

}  // namespace heed
