// Methods of texts, lists and dicts, as far as they change nothing.
#include <algorithm>
#include <array>

#include "text/chat/template/operations.h"
#include "text/chat/template/values/python_text.h"

namespace heed::chat {
namespace {

template <class Object>
struct Method {
  std::string_view name;
  Value (*call)(Run&, const Object&, const Arguments&);
};

template <Side side>
Value strip_method(Run& run, const std::string& text, const Arguments& arguments) {
  const auto characters = optional_text(run, arguments, arguments.bound(run, {"chars"})[0], "chars");
  run.step(text.size() / 64 * (characters ? characters->size() : 1));
  return make_text(run, std::string(strip(text, side, characters)));
}

template <std::string (*change)(std::string_view)>
Value changed(Run& run, const std::string& text, const Arguments& arguments) {
  arguments.bound(run, {});
  run.make(text.size());
  return make_text(run, change(text));
}

template <bool (*test)(std::string_view)>
Value tested(Run& run, const std::string& text, const Arguments& arguments) {
  arguments.bound(run, {});
  run.step(text.size() / 16);
  return test(text);
}

template <CharacterClass kind>
bool all_of(std::string_view text) {
  return is_all(text, kind);
}

template <auto cut>
Value split_method(Run& run, const std::string& text, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"sep", "maxsplit"});
  const auto separator = optional_text(run, arguments, given[0], "sep");
  if (separator && separator->empty()) {
    run.refuse("{}: the separator is empty", arguments.name);
  }
  const int64_t most = given[1].is<Undefined>() ? -1 : integer_argument(run, arguments, given[1], "maxsplit");
  run.make(text.size() * sizeof(std::string_view));
  return texts(run, cut(text, separator, most));
}

Value split_lines_method(Run& run, const std::string& text, const Arguments& arguments) {
  arguments.bound(run, {});
  run.make(text.size() * sizeof(std::string_view));
  return texts(run, split_lines(text));
}

enum class End : uint8_t { begin, end };

template <End end>
Value has_end(Run& run, const std::string& text, const Arguments& arguments) {
  const Value wanted = arguments.bound(run, {"prefix"}, 1)[0];
  const auto matches = [&](const Value& one) {
    const std::string& part = text_argument(run, arguments, one, "prefix");
    return end == End::begin ? text.starts_with(part) : text.ends_with(part);
  };
  if (wanted.list() != nullptr && wanted.list()->kind == ListKind::tuple) {
    return std::ranges::any_of(wanted.list()->items, matches);
  }
  return matches(wanted);
}

template <End end>
Value without_end(Run& run, const std::string& text, const Arguments& arguments) {
  const Value wanted = arguments.bound(run, {"prefix"}, 1)[0];
  const std::string& part = text_argument(run, arguments, wanted, "prefix");
  const bool has = end == End::begin ? text.starts_with(part) : text.ends_with(part);
  const size_t cut = has ? part.size() : 0;
  return make_text(run, text.substr(end == End::begin ? cut : 0, text.size() - cut));
}

// Where a text is found from `begin` on, counted in characters; -1: nowhere.
template <End from>
Value find_method(Run& run, const std::string& text, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"sub", "start"}, 1);
  const std::string& part = text_argument(run, arguments, given[0], "sub");
  run.step(text.size() / 32);
  int64_t start = given[1].is<Undefined>() ? 0 : integer_argument(run, arguments, given[1], "start");
  start = start < 0 ? std::max<int64_t>(0, start + characters_of(text)) : start;
  if (start > characters_of(text)) {
    return int64_t{-1};
  }
  const size_t begin = byte_of(text, start);
  const size_t found = from == End::begin ? find_first(text, part, begin) : find_last(text, part);
  const bool there = found != std::string::npos && found >= begin;
  return there ? characters_of(std::string_view(text).substr(0, found)) : int64_t{-1};
}

Value count_method(Run& run, const std::string& text, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"sub"}, 1);
  const std::string& part = text_argument(run, arguments, given[0], "sub");
  run.step(text.size() / 32);
  if (part.empty()) {
    return characters_of(text) + 1;
  }
  int64_t count = 0;
  for (size_t at = find_first(text, part); at != std::string::npos; at = find_first(text, part, at + part.size())) {
    ++count;
  }
  return count;
}

Value replace_method(Run& run, const std::string& text, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"old", "new", "count"}, 2);
  const int64_t most = given[2].is<Undefined>() ? -1 : integer_argument(run, arguments, given[2], "count");
  return make_text(run, replace(run, text, text_argument(run, arguments, given[0], "old"),
                                text_argument(run, arguments, given[1], "new"), most));
}

Value join_method(Run& run, const std::string& text, const Arguments& arguments) {
  const Value items = arguments.bound(run, {"iterable"}, 1)[0];
  std::string joined;
  bool first = true;
  const ListPointer all = items_of(run, items);
  for (const Value& item : all->items) {
    const std::string& part = text_argument(run, arguments, item, "iterable");
    run.make(part.size() + text.size());
    joined += (std::exchange(first, false) ? "" : text) + part;
  }
  return make_text(run, std::move(joined));
}

template <Side side>
Value padded(Run& run, const std::string& text, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"width", "fillchar"}, 1);
  const int64_t width = std::max<int64_t>(0, integer_argument(run, arguments, given[0], "width"));
  const std::string fill = optional_text(run, arguments, given[1], "fillchar").value_or(" ");
  const int64_t missing = std::max<int64_t>(0, width - characters_of(text));
  if (characters_of(fill) != 1) {
    run.refuse("{}: expected one character to fill with", arguments.name);
  }
  if (missing > static_cast<int64_t>(kMaxMadeBytes)) {
    run.refuse("{}: a text of {} characters is longer than the limit", arguments.name, width);
  }
  run.make(static_cast<size_t>(missing) * fill.size());
  // Python puts the odd character of a centered text to the left where the width is odd.
  const int64_t left = side == Side::left ? missing : side == Side::right ? 0 : missing / 2 + (missing & width & 1);
  std::string filled;
  for (int64_t i = 0; i < left; ++i) {
    filled += fill;
  }
  filled += text;
  for (int64_t i = left; i < missing; ++i) {
    filled += fill;
  }
  return make_text(run, std::move(filled));
}

template <End from>
Value partition(Run& run, const std::string& text, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"sep"}, 1);
  const std::string& separator = text_argument(run, arguments, given[0], "sep");
  if (separator.empty()) {
    run.refuse("{}: the separator is empty", arguments.name);
  }
  const size_t found = from == End::begin ? find_first(text, separator) : find_last(text, separator);
  std::vector<Value> parts;
  if (found == std::string::npos) {
    parts.assign(3, constant(""));
    parts[from == End::begin ? 0 : 2] = make_text(run, text);
  } else {
    parts = {make_text(run, text.substr(0, found)), make_text(run, separator),
             make_text(run, text.substr(found + separator.size()))};
  }
  return make_list(run, std::move(parts), ListKind::tuple);
}

constexpr std::array<Method<std::string>, 30> kTextMethods{{
    {"capitalize", changed<capitalized>},
    {"center", padded<Side::both>},
    {"count", count_method},
    {"endswith", has_end<End::end>},
    {"find", find_method<End::begin>},
    {"isalnum", tested<all_of<CharacterClass::letter_or_digit>>},
    {"isalpha", tested<all_of<CharacterClass::letter>>},
    {"isdigit", tested<all_of<CharacterClass::digit>>},
    {"islower", tested<is_all_lower>},
    {"isspace", tested<all_of<CharacterClass::space>>},
    {"isupper", tested<is_all_upper>},
    {"join", join_method},
    {"ljust", padded<Side::right>},
    {"lower", changed<lower_case>},
    {"lstrip", strip_method<Side::left>},
    {"partition", partition<End::begin>},
    {"removeprefix", without_end<End::begin>},
    {"removesuffix", without_end<End::end>},
    {"replace", replace_method},
    {"rfind", find_method<End::end>},
    {"rjust", padded<Side::left>},
    {"rpartition", partition<End::end>},
    {"rsplit", split_method<split_from_right>},
    {"rstrip", strip_method<Side::right>},
    {"split", split_method<split>},
    {"splitlines", split_lines_method},
    {"startswith", has_end<End::begin>},
    {"strip", strip_method<Side::both>},
    {"title", changed<title_case>},
    {"upper", changed<upper_case>},
}};

Value get_method(Run& run, const Dict& dict, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"key", "default"}, 1);
  const Value* found = find_in(run, dict, given[0]);
  const bool has_default = arguments.values.size() + arguments.named.size() > 1;
  return found != nullptr ? *found : has_default ? given[1] : Value(None{});
}

template <ListKind kind>
Value dict_view(Run& run, const Dict& dict, const Arguments& arguments) {
  arguments.bound(run, {});
  std::vector<Value> items;
  for (const auto& [key, value] : dict.items) {
    items.push_back(kind == ListKind::keys     ? key
                    : kind == ListKind::values ? value
                                               : make_list(run, {key, value}, ListKind::tuple));
  }
  return make_list(run, std::move(items), kind);
}

Value copy_dict(Run& run, const Dict& dict, const Arguments& arguments) {
  arguments.bound(run, {});
  return make_dict(run, dict.items);
}

constexpr std::array<Method<Dict>, 5> kDictMethods{{{"copy", copy_dict},
                                                    {"get", get_method},
                                                    {"items", dict_view<ListKind::items>},
                                                    {"keys", dict_view<ListKind::keys>},
                                                    {"values", dict_view<ListKind::values>}}};

Value count_items(Run& run, const List& list, const Arguments& arguments) {
  const Value wanted = arguments.bound(run, {"value"}, 1)[0];
  return static_cast<int64_t>(
      std::ranges::count_if(list.items, [&](const Value& one) { return equal(run, one, wanted); }));
}

Value index_of(Run& run, const List& list, const Arguments& arguments) {
  const Value wanted = arguments.bound(run, {"value"}, 1)[0];
  const auto found = std::ranges::find_if(list.items, [&](const Value& one) { return equal(run, one, wanted); });
  if (found == list.items.end()) {
    run.refuse("index: the value is not in the list");
  }
  return static_cast<int64_t>(found - list.items.begin());
}

Value copy_list(Run& run, const List& list, const Arguments& arguments) {
  arguments.bound(run, {});
  return make_list(run, list.items, list.kind);
}

constexpr std::array<Method<List>, 3> kListMethods{{{"copy", copy_list}, {"count", count_items}, {"index", index_of}}};

// Python has these, and a template may not call them: what it was given stays as it is.
constexpr std::array<std::string_view, 5> kChangingDicts{"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::array<std::string_view, 8> kChangingLists{"append", "clear",  "extend",  "insert",
                                                         "pop",    "remove", "reverse", "sort"};

template <class Table>
auto find_method_in(const Table& table, std::string_view name) {
  const auto found = std::ranges::find_if(table, [&](const auto& one) { return one.name == name; });
  return found == table.end() ? nullptr : found->call;
}

template <class Table>
std::string_view name_in(const Table& table, std::string_view name) {
  const auto found = std::ranges::find_if(table, [&](const auto& one) { return one.name == name; });
  return found == table.end() ? std::string_view() : found->name;
}

bool is_among(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }
bool is_changing(std::string_view name) { return is_among(kChangingDicts, name) || is_among(kChangingLists, name); }

}  // namespace

bool is_method(std::string_view name) {
  return find_method_in(kTextMethods, name) != nullptr || find_method_in(kDictMethods, name) != nullptr ||
         find_method_in(kListMethods, name) != nullptr || is_changing(name);
}

std::string_view method_of(const Value& value, std::string_view name) {
  if (value.text() != nullptr) {
    return name_in(kTextMethods, name);
  }
  if (value.dict() != nullptr) {
    const auto changing = std::ranges::find(kChangingDicts, name);
    return changing == kChangingDicts.end() ? name_in(kDictMethods, name) : *changing;
  }
  return value.list() != nullptr ? name_in(kListMethods, name) : std::string_view();
}

Value call_method(Run& run, const Value& object, const Arguments& arguments) {
  run.step();
  if (const auto call = object.text() != nullptr ? find_method_in(kTextMethods, arguments.name) : nullptr) {
    return call(run, *object.text(), arguments);
  }
  if (const auto call = object.dict() != nullptr ? find_method_in(kDictMethods, arguments.name) : nullptr) {
    return call(run, *object.dict(), arguments);
  }
  const bool plain = object.list() != nullptr && object.list()->kind <= ListKind::range;
  if (const auto call = plain ? find_method_in(kListMethods, arguments.name) : nullptr) {
    return call(run, *object.list(), arguments);
  }
  if (is_changing(arguments.name) && (object.list() != nullptr || object.dict() != nullptr)) {
    run.refuse("the method '{}' would change a {}, which templates may not", arguments.name, type_name(object));
  }
  run.refuse("{} has no method '{}'", type_name(object), arguments.name);
}

}  // namespace heed::chat
