#include "text/chat/template/values/value.h"

#include <algorithm>
#include <cmath>

#include "text/chat/template/values/python_text.h"

namespace heed::chat {
namespace {

int depth_of(const Value& value) {
  return value.list() != nullptr ? value.list()->depth : value.dict() != nullptr ? value.dict()->depth : 0;
}

int checked_depth(Run& run, int depth) {
  if (depth > kMaxValueDepth) {
    run.refuse("lists and dicts are more than {} deep, the limit", kMaxValueDepth);
  }
  return depth;
}

bool equal_lists(Run& run, const List& one, const List& other) {
  if (one.kind != other.kind || one.items.size() != other.items.size() || one.kind == ListKind::generator) {
    return &one == &other;
  }
  for (size_t i = 0; i < one.items.size(); ++i) {
    if (!equal(run, one.items[i], other.items[i])) {
      return false;
    }
  }
  return true;
}

bool equal_dicts(Run& run, const Dict& one, const Dict& other) {
  return one.items.size() == other.items.size() && std::ranges::all_of(one.items, [&](const auto& item) {
           const Value* found = find_in(run, other, item.first);
           return found != nullptr && equal(run, item.second, *found);
         });
}

int sign(auto one, auto other) { return one < other ? -1 : one > other ? 1 : 0; }

int order_lists(Run& run, const List& one, const List& other) {
  const size_t both = std::min(one.items.size(), other.items.size());
  for (size_t i = 0; i < both; ++i) {
    if (!equal(run, one.items[i], other.items[i])) {
      return order(run, one.items[i], other.items[i]);
    }
  }
  return sign(one.items.size(), other.items.size());
}

}  // namespace

Value make_text(Run& run, std::string text) {
  run.make(text.size() + sizeof(std::string));
  return std::make_shared<const std::string>(std::move(text));
}

Value constant(std::string_view text) { return std::make_shared<const std::string>(text); }

Value make_list(Run& run, std::vector<Value> items, ListKind kind) {
  run.make(items.size() * sizeof(Value) + sizeof(List));
  int depth = 0;
  for (const Value& item : items) {
    depth = std::max(depth, depth_of(item));
  }
  return std::make_shared<const List>(
      List{.kind = kind, .depth = checked_depth(run, depth + 1), .items = std::move(items)});
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): its items are moved
Value make_dict(Run& run, std::vector<std::pair<Value, Value>> items) {
  run.make(items.size() * 2 * (sizeof(Value) + 3 * sizeof(void*)) + sizeof(Dict));
  auto dict = std::make_shared<Dict>();
  int depth = 0;
  for (auto& [key, value] : items) {
    depth = std::max(depth, depth_of(value));
    if (const Value* found = find_in(run, *dict, key)) {
      const auto same = std::ranges::find_if(dict->items, [&](const auto& item) { return &item.second == found; });
      same->second = std::move(value);
      continue;
    }
    dict->items.emplace_back(std::move(key), std::move(value));
    if (const std::string* text = dict->items.back().first.text()) {
      dict->texts.emplace(*text, dict->items.size() - 1);
    }
  }
  dict->depth = checked_depth(run, depth + 1);
  return DictPointer(std::move(dict));
}

Value make_undefined(std::string name) { return Undefined{std::make_shared<const std::string>(std::move(name))}; }

const Value* Dict::find(std::string_view key) const {
  const auto found = texts.find(key);
  return found == texts.end() ? nullptr : &items[found->second].second;
}

const Value* find_in(Run& run, const Dict& dict, const Value& key) {
  if (const std::string* text = key.text()) {
    return dict.find(*text);
  }
  if (key.dict() != nullptr || (key.list() != nullptr && key.list()->kind == ListKind::list)) {
    run.refuse("a {} can't be a key", type_name(key));
  }
  if (dict.texts.size() == dict.items.size()) {
    return nullptr;
  }
  run.step(dict.items.size() / 8);
  for (const auto& [name, value] : dict.items) {
    if (equal(run, name, key)) {
      return &value;
    }
  }
  return nullptr;
}

std::string_view type_name(const Value& value) {
  if (const List* list = value.list()) {
    constexpr std::string_view kKinds[] = {"list",        "tuple",      "range",    "dict_keys",
                                           "dict_values", "dict_items", "generator"};
    return kKinds[static_cast<size_t>(list->kind)];
  }
  return value.is<Undefined>()     ? "undefined value"
         : value.is<None>()        ? "None"
         : value.is<bool>()        ? "bool"
         : value.is<int64_t>()     ? "int"
         : value.is<double>()      ? "float"
         : value.is<Text>()        ? "str"
         : value.is<DictPointer>() ? "dict"
         : value.is<Namespace*>()  ? "namespace"
                                   : "function";
}

bool is_true(const Value& value) {
  if (const auto number = number_of(value)) {
    return *number != 0.0;
  }
  if (const std::string* text = value.text()) {
    return !text->empty();
  }
  if (const List* list = value.list()) {
    return list->kind == ListKind::generator || !list->items.empty();
  }
  if (const Dict* dict = value.dict()) {
    return !dict->items.empty();
  }
  return !value.is<Undefined>() && !value.is<None>();
}

bool equal(Run& run, const Value& one, const Value& other) {
  run.step();
  const auto first = integer_of(one), second = integer_of(other);
  if (first && second) {
    return *first == *second;
  }
  const auto number = number_of(one), other_number = number_of(other);
  if (number && other_number) {
    return *number == *other_number;
  }
  if (one.text() != nullptr && other.text() != nullptr) {
    run.step(one.text()->size() == other.text()->size() ? one.text()->size() / 64 : 0);
    return *one.text() == *other.text();
  }
  if (one.list() != nullptr && other.list() != nullptr) {
    return equal_lists(run, *one.list(), *other.list());
  }
  if (one.dict() != nullptr && other.dict() != nullptr) {
    return equal_dicts(run, *one.dict(), *other.dict());
  }
  if (one.is<Namespace*>() && other.is<Namespace*>()) {
    return *one.as<Namespace*>() == *other.as<Namespace*>();
  }
  return (one.is<None>() && other.is<None>()) || (one.is<Undefined>() && other.is<Undefined>());
}

int order(Run& run, const Value& one, const Value& other) {
  run.step();
  const auto first = integer_of(one), second = integer_of(other);
  if (first && second) {
    return sign(*first, *second);
  }
  const auto number = number_of(one), other_number = number_of(other);
  if (number && other_number) {
    return sign(*number, *other_number);
  }
  if (one.text() != nullptr && other.text() != nullptr) {
    run.step(std::min(one.text()->size(), other.text()->size()) / 64);
    return one.text()->compare(*other.text());
  }
  if (one.list() != nullptr && other.list() != nullptr && one.list()->kind == other.list()->kind &&
      one.list()->kind <= ListKind::tuple) {
    return order_lists(run, *one.list(), *other.list());
  }
  run.refuse("{} and {} have no order", type_name(one), type_name(other));
}

bool contains(Run& run, const Value& container, const Value& item) {
  if (const std::string* text = container.text()) {
    if (item.text() == nullptr) {
      run.refuse("'in' of a text needs a text before it, not {}", type_name(item));
    }
    run.step(text->size() / 64);
    return find_first(*text, *item.text()) != std::string::npos;
  }
  if (const Dict* dict = container.dict()) {
    return find_in(run, *dict, item) != nullptr;
  }
  if (const List* list = container.list(); list != nullptr && list->kind == ListKind::generator) {
    while (list->taken < list->items.size()) {  // a search uses a generator up as far as it goes
      if (equal(run, list->items[list->taken++], item)) {
        return true;
      }
    }
    return false;
  }
  const ListPointer items = items_of(run, container);
  return std::ranges::any_of(items->items, [&](const Value& one) { return equal(run, one, item); });
}

ListPointer items_of(Run& run, const Value& value) {
  if (const auto* list = value.as<ListPointer>()) {
    const size_t taken =
        (*list)->kind == ListKind::generator ? std::exchange((*list)->taken, (*list)->items.size()) : 0;
    if (taken == 0) {
      return *list;
    }
    const auto begin = (*list)->items.begin() + static_cast<int64_t>(taken);
    return *make_list(run, {begin, (*list)->items.end()}).as<ListPointer>();
  }
  std::vector<Value> items;
  if (const Dict* dict = value.dict()) {
    for (const auto& [key, unused] : dict->items) {
      items.push_back(key);
    }
  } else if (const std::string* text = value.text()) {
    run.make(text->size() * sizeof(std::string));
    for (size_t at = 0; at < text->size();) {
      const size_t bytes = bytes_of_character(*text, at);
      items.push_back(constant(std::string_view(*text).substr(at, bytes)));
      at += bytes;
    }
  } else if (!value.is<Undefined>()) {
    run.refuse("'{}' can't be gone through item by item", type_name(value));
  }
  return *make_list(run, std::move(items)).as<ListPointer>();
}

int64_t length_of(Run& run, const Value& value) {
  if (const std::string* text = value.text()) {
    run.step(text->size() / 64);
    return characters_of(*text);
  }
  if (const Dict* dict = value.dict()) {
    return static_cast<int64_t>(dict->items.size());
  }
  if (value.list() != nullptr && !value.is_generator()) {
    return static_cast<int64_t>(value.list()->items.size());
  }
  if (!value.is<Undefined>()) {
    run.refuse("'{}' has no length", type_name(value));
  }
  return 0;
}

std::optional<int64_t> integer_of(const Value& value) {
  if (const bool* truth = value.as<bool>()) {
    return *truth ? 1 : 0;
  }
  const int64_t* integer = value.as<int64_t>();
  return integer != nullptr ? std::optional(*integer) : std::nullopt;
}

std::optional<double> number_of(const Value& value) {
  if (const double* number = value.as<double>()) {
    return *number;
  }
  const auto integer = integer_of(value);
  return integer ? std::optional(static_cast<double>(*integer)) : std::nullopt;
}

}  // namespace heed::chat
