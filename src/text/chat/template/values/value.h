// Values of chat templates: those of JSON, and what the template language, which is Python's child, has beside them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "text/chat/template/run.h"

namespace heed::chat {

class Value;
struct Namespace;
struct Statement;

// What a name or a key that is not there gives. It is printed as nothing; `name` is for errors.
struct Undefined {
  std::shared_ptr<const std::string> name;
};
struct None {};

// What can be called and is not: a macro of the template, or a function or method of the language by its name.
struct Callable {
  const Statement* macro = nullptr;
  std::string_view name;
};

// Python tells its sequences apart: a tuple does not equal a list, and a generator has no length and ends once.
enum class ListKind : uint8_t { list, tuple, range, keys, values, items, generator };

struct List {
  ListKind kind = ListKind::list;
  int depth = 1;
  std::vector<Value> items;
  mutable size_t taken = 0;  // of a generator
};

// In the order in which keys were first given.
struct Dict {
  int depth = 1;
  std::vector<std::pair<Value, Value>> items;
  std::unordered_map<std::string_view, size_t> texts;  // keys that are texts, by their place

  const Value* find(std::string_view key) const;  // null: it is not there
};

using Text = std::shared_ptr<const std::string>;
using ListPointer = std::shared_ptr<const List>;
using DictPointer = std::shared_ptr<const Dict>;

template <class Kind, class... Kinds>
concept OneOf = (std::is_same_v<Kind, Kinds> || ...);
template <class Kind>
concept ValueKind =
    OneOf<Kind, Undefined, None, bool, int64_t, double, Text, ListPointer, DictPointer, Namespace*, Callable>;

// Immutable, except that a generator is used up; copies are cheap.
class Value {
 public:
  Value() : any_(Undefined{}) {}
  template <ValueKind Kind>
  Value(Kind kind) : any_(std::move(kind)) {}  // NOLINT(google-explicit-constructor): each of the kinds is a value

  template <class Kind>
  bool is() const {
    return std::holds_alternative<Kind>(any_);
  }
  template <class Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&any_);
  }

  const std::string* text() const { return is<Text>() ? as<Text>()->get() : nullptr; }
  const List* list() const { return is<ListPointer>() ? as<ListPointer>()->get() : nullptr; }
  const Dict* dict() const { return is<DictPointer>() ? as<DictPointer>()->get() : nullptr; }
  bool is_generator() const { return list() != nullptr && list()->kind == ListKind::generator; }

 private:
  std::variant<Undefined, None, bool, int64_t, double, Text, ListPointer, DictPointer, Namespace*, Callable> any_;
};

// The only thing that a template changes.
struct Namespace {
  std::vector<std::pair<std::string, Value>> attributes;
};

// These charge the run for what they make, and refuse what is too deep.
Value make_text(Run& run, std::string text);
Value make_list(Run& run, std::vector<Value> items, ListKind kind = ListKind::list);
Value make_dict(Run& run, std::vector<std::pair<Value, Value>> items);  // of equal keys the last value counts
Value make_undefined(std::string name);

// What stands under a key; null where nothing does. A refusal where the key is a list or a dict.
const Value* find_in(Run& run, const Dict& dict, const Value& key);

// A text that is known while compiling: costs nothing.
Value constant(std::string_view text);

std::string_view type_name(const Value& value);  // as Python calls it
bool is_true(const Value& value);
bool equal(Run& run, const Value& one, const Value& other);
// Negative, zero or positive. A refusal where the two have no order.
int order(Run& run, const Value& one, const Value& other);
bool contains(Run& run, const Value& container, const Value& item);
// What a loop goes through; of a generator the rest, which is used up. A refusal where there is nothing to go through.
ListPointer items_of(Run& run, const Value& value);
// Python's len().
int64_t length_of(Run& run, const Value& value);

// The number, where the value is one (true is 1).
std::optional<int64_t> integer_of(const Value& value);
std::optional<double> number_of(const Value& value);

}  // namespace heed::chat
