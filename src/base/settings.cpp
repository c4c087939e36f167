#include "base/settings.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <set>

namespace heed {
namespace {

constexpr std::string_view kDescription = "description";
constexpr size_t kFew = 10;  // up to this many names are listed when none is similar

template <class Value>
Setting plain(std::string name, SettingType type, Value& value, std::function<std::string()> show) {
  return {std::move(name), type,
          [&value](const std::string&, const SettingValue& found) { value = std::get<Value>(found); }, std::move(show)};
}

// The number in a form that TOML reads as a floating-point number.
std::string with_point(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

template <class Value>
std::string one_or_list(const std::vector<Value>& items) {
  return items.size() == 1 ? fmt::format("{}", items.front()) : fmt::format("[{}]", fmt::join(items, ", "));
}

// The node's value or its items' values, if all of them have this type.
template <class Value>
std::optional<SettingValue> values_of(const toml::node& node, bool (toml::node::*has_type)() const noexcept) {
  std::vector<Value> values;
  const auto add = [&](const toml::node& one) {
    const bool fits = (one.*has_type)();
    if (fits) {
      values.push_back(*one.value<Value>());
    }
    return fits;
  };
  const toml::array* const array = node.as_array();
  const bool fits = array == nullptr ? add(node) : std::all_of(array->begin(), array->end(), add);
  return fits ? std::optional<SettingValue>(std::move(values)) : std::nullopt;
}

// The numbers of a value, whether one or several.
std::span<const double> numbers_of(const SettingValue& value) {
  if (const double* const number = std::get_if<double>(&value)) {
    return {number, 1};
  }
  const auto* const several = std::get_if<std::vector<double>>(&value);
  return several == nullptr ? std::span<const double>() : *several;
}

// The node's value, if it has that type.
std::optional<SettingValue> value_of(const toml::node& node, SettingType type) {
  switch (type) {
    case SettingType::integer:
      return node.is_integer() ? std::optional<SettingValue>(*node.value<int64_t>()) : std::nullopt;
    case SettingType::number:
      return node.is_number() ? std::optional<SettingValue>(*node.value<double>()) : std::nullopt;
    case SettingType::flag:
      return node.is_boolean() ? std::optional<SettingValue>(*node.value<bool>()) : std::nullopt;
    case SettingType::text:
      return node.is_string() ? std::optional<SettingValue>(*node.value<std::string>()) : std::nullopt;
    case SettingType::integers:
      return values_of<int64_t>(node, &toml::node::is_integer);
    case SettingType::numbers:
      return values_of<double>(node, &toml::node::is_number);
    case SettingType::list:
      break;
  }
  std::vector<std::string> texts;
  if (const toml::array* const array = node.as_array()) {
    for (const toml::node& item : *array) {
      if (!item.is_string()) {
        return std::nullopt;
      }
      texts.push_back(*item.value<std::string>());
    }
    return texts;
  }
  if (!node.is_string()) {
    return std::nullopt;
  }
  texts.push_back(*node.value<std::string>());
  return texts;
}

void set_value(const Setting& setting, const toml::node& node, const std::string& where) {
  const std::optional<SettingValue> value = value_of(node, setting.type);
  require<ConfigError>(value.has_value(), where, "{} must be {}", setting.name, describe(setting.type));
  for (const double number : numbers_of(*value)) {
    require<ConfigError>(std::isfinite(number), where, "{} is {}, expected a finite number", setting.name, number);
  }
  setting.set(where, *value);
}

bool is_called(const Setting& setting, std::string_view name) { return setting.is_called(name); }
bool is_called(const SettingTable& table, std::string_view name) { return table.name == name; }

template <class Named>
const Named& named(std::span<const Named> all, std::string_view name, const std::string& where, std::string_view what) {
  const auto it = std::ranges::find_if(all, [&](const Named& one) { return is_called(one, name); });
  if (it == all.end()) {
    std::vector<std::string_view> names;
    std::ranges::transform(all, std::back_inserter(names), [](const Named& one) { return std::string_view(one.name); });
    std::string hint = suggest_name(name, names);
    if (hint.empty() && names.size() <= kFew) {
      hint = fmt::format(", expected one of {}", fmt::join(names, ", "));
    }
    fail<ConfigError>(where, "unknown {} '{}'{}", what, name, hint);
  }
  return *it;
}

const Setting& setting_named(const SettingTable& table, std::string_view name, const std::string& where) {
  const auto foreign = std::ranges::find(table.foreign, name, &ForeignKey::name);
  require<ConfigError>(foreign == table.foreign.end(), where, "'{}' is {}", name,
                       foreign == table.foreign.end() ? "" : foreign->why);
  return named(std::span<const Setting>(table.settings), name, where, "key");
}

bool knows(std::span<const SettingTable> tables, std::string_view table, std::string_view key) {
  const auto it = std::ranges::find(tables, table, &SettingTable::name);
  return it != tables.end() &&
         std::ranges::any_of(it->settings, [&](const Setting& setting) { return setting.is_called(key); });
}

// The parts of "table.key=value".
struct Assignment {
  explicit Assignment(std::string_view text) {
    const size_t equals = text.find('=');
    const size_t dot = text.substr(0, equals).find('.');
    require<ConfigError>(equals != std::string_view::npos && dot != std::string_view::npos,
                         fmt::format("--set {}", text), "expected table.key=value");
    table = text.substr(0, dot);
    key = text.substr(dot + 1, equals - dot - 1);
    value = text.substr(equals + 1);
  }

  std::string_view table, key, value;
};

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) {
      parts.emplace_back(text.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return parts;
}

// a.b.c makes nested tables, which toml++ parses recursively and here without a limit on the depth.
void require_shallow_keys(std::string_view toml, std::string_view file) {
  constexpr int kMaxDots = 1000;
  int64_t line = 1;
  int dots = 0;
  for (const char c : toml) {
    line += c == '\n' ? 1 : 0;
    dots = std::string_view("\n=,[]{}").find(c) != std::string_view::npos ? 0 : dots + (c == '.' ? 1 : 0);
    if (dots > kMaxDots) {
      fail<FormatError>(fmt::format("{}:{}", file, line), "more than {} dots in one name or value", kMaxDots);
    }
  }
}

toml::table parse_toml(std::string_view text, std::string_view file) {
  require_shallow_keys(text, file);
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    fail<FormatError>(fmt::format("{}:{}", file, error.source().begin.line), "{}", error.description());
  }
}

// One value in TOML, or nullopt.
std::optional<toml::table> parse_value(const std::string& text) {
  try {
    toml::table table = parse_toml(fmt::format("value = {}", text), "");
    return table.size() == 1 ? std::optional(std::move(table)) : std::nullopt;
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

// Whether TOML refuses the text only because its number is too large.
bool is_out_of_range(SettingType type, const std::string& text) {
  if (type == SettingType::integer || type == SettingType::integers) {
    const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
    return text.size() > sign && text.find_first_not_of("0123456789", sign) == std::string::npos && text[sign] != '0';
  }
  char* end = nullptr;
  return (type == SettingType::number || type == SettingType::numbers) && std::isinf(std::strtod(text.c_str(), &end)) &&
         *end == '\0' && text.find_first_of("0123456789") != std::string::npos;
}

// The value as TOML or, when that does not have the right type, as plain text. A list of numbers needs no brackets.
void set_from_text(const Setting& setting, const std::string& text, const std::string& where) {
  const bool may_be_plain = setting.type == SettingType::text || setting.type == SettingType::list;
  const bool may_be_several = setting.type == SettingType::integers || setting.type == SettingType::numbers;
  std::optional<toml::table> table = parse_value(text);
  if (!table && may_be_several) {
    table = parse_value(fmt::format("[{}]", text));
  }
  if (table && (!may_be_plain || value_of(*table->get("value"), setting.type))) {
    return set_value(setting, *table->get("value"), where);
  }
  require<ConfigError>(!is_out_of_range(setting.type, text), where, "{} is '{}', which is too large", setting.name,
                       text);
  require<ConfigError>(may_be_plain, where, "{} is '{}', but must be {}", setting.name, text, describe(setting.type));
  require<ConfigError>(setting.type == SettingType::text || !text.starts_with('['), where,
                       "{} is '{}', which is not a list: [\"a\", \"b\"], or a,b", setting.name, text);
  if (setting.type == SettingType::list) {
    setting.set(where, split_at_commas(text));
  } else {
    setting.set(where, text);
  }
}

// Sets what one table holds, and returns its name.
std::string read_table(const toml::node& node, std::string_view name, std::string_view file,
                       std::span<const SettingTable> tables) {
  const auto where = [&](const toml::node& at) { return fmt::format("{}:{}", file, at.source().begin.line); };
  const SettingTable& table = named(tables, name, where(node), "key");
  require<ConfigError>(node.is_table(), where(node), "{} must be a table, [{}]", table.name, table.name);
  std::set<std::string> set;
  for (const auto& [key, value] : *node.as_table()) {
    const Setting& setting = setting_named(table, key.str(), where(value));
    require<ConfigError>(set.insert(setting.name).second, where(value), "{} is set twice, once as {}", setting.name,
                         setting.former);
    set_value(setting, value, where(value));
  }
  return table.name;
}

std::string line_of(const toml::node& node, std::string_view file) {
  return fmt::format("{}:{}", file, node.source().begin.line);
}

// The tables [[list]]; null where the text has no such key.
toml::array* listed_in(toml::table& root, std::string_view file, std::string_view list) {
  toml::node* const node = root.get(list);
  if (node == nullptr) {
    return nullptr;
  }
  require<ConfigError>(node->is_array_of_tables(), line_of(*node, file), "{} must be tables, each [[{}]]", list, list);
  return node->as_array();
}

toml::table& listed_table(toml::table& root, std::string_view file, const ListedTable& listed) {
  toml::array* const tables = listed_in(root, file, listed.list);
  ensure(tables != nullptr && listed.number < tables->size(), "settings", "there is no table {} in [[{}]]",
         listed.number, listed.list);
  return *(*tables)[listed.number].as_table();
}

// Nodes that are moved keep their lines.
void move_to(toml::table& table, std::string_view key, toml::node& node) {
  node.visit([&](auto& typed) { table.insert_or_assign(key, std::move(typed)); });
}

// The text with one of its listed tables laid over it.
toml::table parse_over(std::string_view text, std::string_view file, const ListedTable* over) {
  toml::table root = parse_toml(text, file);
  if (over == nullptr) {
    return root;
  }
  toml::table chosen = std::move(listed_table(root, file, *over));
  root.erase(over->list);
  for (const std::string_view name : over->apart) {
    root.erase(name);
  }
  for (auto&& [name, node] : chosen) {
    toml::table* const inner = node.as_table();
    toml::table* const under = root[name.str()].as_table();
    if (inner != nullptr && under != nullptr) {
      for (auto&& [key, value] : *inner) {
        move_to(*under, key.str(), value);
      }
    } else if (inner != nullptr) {
      move_to(root, name.str(), node);
    }
  }
  return root;
}

void collect_texts(const toml::node& node, std::vector<std::string>& texts) {
  if (const toml::table* const table = node.as_table()) {
    for (const auto& [key, inner] : *table) {
      collect_texts(inner, texts);
    }
  } else if (const toml::array* const array = node.as_array()) {
    for (const toml::node& inner : *array) {
      collect_texts(inner, texts);
    }
  } else if (node.is_string()) {
    texts.push_back(*node.value<std::string>());
  }
}

}  // namespace

std::string in_quotes(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string in_quotes(const std::vector<std::string>& texts) {
  std::vector<std::string> items;
  std::ranges::transform(texts, std::back_inserter(items), [](const std::string& text) { return in_quotes(text); });
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string_view describe(SettingType type) {
  constexpr std::array<std::string_view, 7> kWords{"an integer",
                                                   "a number",
                                                   "true or false",
                                                   "a text",
                                                   "a list of texts",
                                                   "an integer or a list of integers",
                                                   "a number or a list of numbers"};
  return kWords[static_cast<size_t>(type)];
}

Setting formerly(std::string former, Setting setting) {
  setting.former = std::move(former);
  return setting;
}

Setting added(std::string absent, Setting setting) {
  setting.absent = std::move(absent);
  return setting;
}

Setting setting(std::string name, int64_t& value) {
  return plain(std::move(name), SettingType::integer, value, [&value] { return fmt::format("{}", value); });
}
Setting setting(std::string name, double& value) {
  return plain(std::move(name), SettingType::number, value, [&value] { return with_point(value); });
}
Setting setting(std::string name, bool& value) {
  return plain(std::move(name), SettingType::flag, value, [&value] { return value ? "true" : "false"; });
}
Setting setting(std::string name, std::string& value) {
  return plain(std::move(name), SettingType::text, value, [&value] { return in_quotes(value); });
}
Setting setting(std::string name, std::vector<std::string>& value) {
  return plain(std::move(name), SettingType::list, value, [&value] { return in_quotes(value); });
}

Setting file_setting(std::string name, std::string& value) {
  Setting made = setting(std::move(name), value);
  made.change_files = [&value](const auto& change) { change(value); };
  return made;
}
Setting file_setting(std::string name, std::vector<std::string>& value) {
  Setting made = setting(std::move(name), value);
  made.change_files = [&value](const auto& change) { std::ranges::for_each(value, change); };
  return made;
}

std::string as_toml(const std::vector<int64_t>& values) { return one_or_list(values); }
std::string as_toml(const std::vector<double>& values) {
  std::vector<std::string> items;
  std::ranges::transform(values, std::back_inserter(items), with_point);
  return one_or_list(items);
}

std::vector<std::string> table_names(std::string_view text, std::string_view file, std::string_view group) {
  const toml::table root = parse_toml(text, file);
  std::vector<std::string> names;
  if (const toml::table* const tables = root[group].as_table()) {
    for (const auto& [name, node] : *tables) {
      names.emplace_back(name.str());
    }
  }
  return names;
}

std::vector<std::string> read_settings(std::string_view text, std::string_view file,
                                       std::span<const SettingTable> tables, const ListedTable* over) {
  std::vector<std::string> present;
  const toml::table root = parse_over(text, file, over);
  for (const auto& [name, node] : root) {
    if (name.str() == kDescription) {
      continue;
    }
    const std::string group = std::string(name.str()) + ".";
    const bool is_group =
        std::ranges::any_of(tables, [&](const SettingTable& table) { return table.name.starts_with(group); });
    if (is_group && node.is_table()) {
      for (const auto& [inner_name, inner] : *node.as_table()) {
        present.push_back(read_table(inner, group + std::string(inner_name.str()), file, tables));
      }
    } else {
      present.push_back(read_table(node, name.str(), file, tables));
    }
  }
  return present;
}

void read_known_settings(std::string_view text, std::string_view file, std::span<const SettingTable> tables,
                         const ListedTable* over) {
  const toml::table root = parse_over(text, file, over);
  for (const SettingTable& table : tables) {
    const toml::table* const found = root[table.name].as_table();
    for (const Setting& setting : table.settings) {
      if (const toml::node* const value = found == nullptr ? nullptr : found->get(setting.name)) {
        set_value(setting, *value, fmt::format("{}:{}", file, value->source().begin.line));
      }
    }
  }
}

size_t count_listed(std::string_view text, std::string_view file, std::string_view list) {
  toml::table root = parse_toml(text, file);
  const toml::array* const tables = listed_in(root, file, list);
  return tables == nullptr ? 0 : tables->size();
}

void read_listed(std::string_view text, std::string_view file, const ListedTable& listed, const SettingTable& table,
                 InnerTables inner) {
  toml::table root = parse_toml(text, file);
  for (const auto& [key, node] : listed_table(root, file, listed)) {
    if (node.is_table()) {
      require<ConfigError>(inner == InnerTables::skipped, line_of(node, file), "{} has no table [{}]", table.name,
                           key.str());
    } else {
      set_value(setting_named(table, key.str(), line_of(node, file)), node, line_of(node, file));
    }
  }
}

void read_known_listed(std::string_view text, std::string_view file, const ListedTable& listed,
                       const SettingTable& table) {
  toml::table root = parse_toml(text, file);
  const toml::table& found = listed_table(root, file, listed);
  for (const Setting& setting : table.settings) {
    if (const toml::node* const value = found.get(setting.name)) {
      set_value(setting, *value, line_of(*value, file));
    }
  }
}

std::vector<std::string> texts_in_listed(std::string_view text, std::string_view file, const ListedTable& listed) {
  toml::table root = parse_toml(text, file);
  std::vector<std::string> texts;
  collect_texts(listed_table(root, file, listed), texts);
  return texts;
}

std::vector<std::pair<std::string, std::string>> read_names(std::string_view text, std::string_view file,
                                                            std::string_view table) {
  const toml::table root = parse_toml(text, file);
  std::vector<std::pair<std::string, std::string>> names;
  if (const toml::node* const found = root.get(table)) {
    require<ConfigError>(found->is_table(), line_of(*found, file), "{} must be a table, [{}]", table, table);
    for (const auto& [key, node] : *found->as_table()) {
      require<ConfigError>(node.is_string(), line_of(node, file), "{} must be a text", key.str());
      names.emplace_back(key.str(), *node.value<std::string>());
    }
  }
  return names;
}

void override_setting(std::string_view assignment, std::span<const SettingTable> tables) {
  const std::string where = fmt::format("--set {}", assignment);
  const Assignment parts(assignment);
  // Settings are written to a run's recipe, which must be readable later.
  require_shallow_keys(assignment, "--set");
  require<ConfigError>(parse_value(in_quotes(std::string(assignment))).has_value(), where, "is not UTF-8");
  const SettingTable& table = named(tables, parts.table, where, "table");
  set_from_text(setting_named(table, parts.key, where), std::string(parts.value), where);
}

void override_known_setting(std::string_view assignment, std::span<const SettingTable> tables) {
  const Assignment parts(assignment);
  if (knows(tables, parts.table, parts.key)) {
    override_setting(assignment, tables);
  }
}

std::string to_toml(std::span<const SettingTable> tables) {
  std::string text;
  for (const SettingTable& table : tables) {
    text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", table.name);
    for (const Setting& setting : table.settings) {
      text += fmt::format("{} = {}\n", setting.name, setting.show());
    }
  }
  return text;
}

}  // namespace heed
