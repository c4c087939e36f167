// What is reached by '.', '[ ]' and slices.
#include <algorithm>

#include "text/chat/template/operations.h"
#include "text/chat/template/values/python_text.h"

namespace heed::chat {
namespace {

const std::string& shown_name(const Value& undefined) {
  static const std::string kUnnamed = "a value";
  const auto* value = undefined.as<Undefined>();
  return value != nullptr && value->name != nullptr ? *value->name : kUnnamed;
}

Value not_there(const Value& object, std::string_view name) {
  return make_undefined(fmt::format("{}.{}", type_name(object), name));
}

bool has_indices(const Value& value) { return value.list() != nullptr && value.list()->kind <= ListKind::range; }

Value item_at(Run& run, const Value& object, int64_t index) {
  const int64_t length = length_of(run, object);
  const int64_t at = index < 0 ? index + length : index;
  if (at < 0 || at >= length) {
    return make_undefined(fmt::format("{}[{}]", type_name(object), index));
  }
  if (const std::string* text = object.text()) {
    const size_t begin = byte_of(*text, at);
    return make_text(run, text->substr(begin, bytes_of_character(*text, begin)));
  }
  return object.list()->items[static_cast<size_t>(at)];
}

struct Span {
  int64_t first, step, count;
};

// Python's rules for start, stop and step of a sequence of `length`.
Span span_of(Run& run, int64_t length, const SliceBounds& bounds) {
  const auto bound = [&](const Value& value, int64_t otherwise, int64_t least, int64_t most) {
    if (value.is<None>()) {
      return otherwise;
    }
    const auto index = integer_of(value);
    if (!index) {
      run.refuse("a slice's bound is {}, expected a whole number", type_name(value));
    }
    return std::clamp(*index < 0 ? *index + length : *index, least, most);
  };
  const int64_t stride = bounds.step.is<None>() ? 1 : integer_of(bounds.step).value_or(0);
  if (stride == 0) {
    run.refuse("a slice's step is not a whole number other than 0");
  }
  const bool forward = stride > 0;
  const int64_t start = bound(bounds.start, forward ? 0 : length - 1, forward ? 0 : -1, forward ? length : length - 1);
  const int64_t stop = bound(bounds.stop, forward ? length : -1, forward ? 0 : -1, forward ? length : length - 1);
  const int64_t distance = forward ? stop - start : start - stop;
  const int64_t size = stride == INT64_MIN ? INT64_MAX : std::abs(stride);
  return {start, stride, distance <= 0 ? 0 : (distance - 1) / size + 1};
}

}  // namespace

Value attribute_of(Run& run, const Value& object, std::string_view name) {
  if (object.is<Undefined>()) {
    run.refuse("'{}' is undefined, so it has no '{}'", shown_name(object), name);
  }
  if (Namespace* const* space = object.as<Namespace*>()) {
    const auto found =
        std::ranges::find((*space)->attributes, name, [](const auto& one) { return std::string_view(one.first); });
    run.step((*space)->attributes.size() / 8);
    return found == (*space)->attributes.end() ? not_there(object, name) : found->second;
  }
  if (const std::string_view method = method_of(object, name); !method.empty()) {
    return Callable{.macro = nullptr, .name = method};
  }
  if (const Dict* dict = object.dict()) {
    if (const Value* found = dict->find(name)) {
      return *found;
    }
  }
  return not_there(object, name);
}

Value item_of(Run& run, const Value& object, const Value& key) {
  if (object.is<Undefined>()) {
    run.refuse("'{}' is undefined, so it has no items", shown_name(object));
  }
  if (const Dict* dict = object.dict()) {
    const bool usable = key.dict() == nullptr && (key.list() == nullptr || key.list()->kind == ListKind::tuple);
    if (const Value* found = usable ? find_in(run, *dict, key) : nullptr) {
      return *found;
    }
  }
  const auto index = integer_of(key);
  if (index && (object.text() != nullptr || has_indices(object))) {
    return item_at(run, object, *index);
  }
  if (const std::string* name = key.text(); name != nullptr && object.dict() == nullptr) {
    return attribute_of(run, object, *name);
  }
  return not_there(object, key.text() != nullptr ? *key.text() : type_name(key));
}

Value slice_of(Run& run, const Value& object, const SliceBounds& bounds) {
  const std::string* text = object.text();
  if (text == nullptr && !has_indices(object)) {
    run.refuse("a {} has no slices", type_name(object));
  }
  const Span span = span_of(run, length_of(run, object), bounds);
  if (text == nullptr) {
    std::vector<Value> items;
    items.reserve(static_cast<size_t>(span.count));
    for (int64_t i = 0; i < span.count; ++i) {
      items.push_back(object.list()->items[static_cast<size_t>(span.first + i * span.step)]);
    }
    return make_list(run, std::move(items), object.list()->kind);
  }
  if (span.step == 1) {
    const size_t begin = byte_of(*text, span.first);
    const std::string_view rest = std::string_view(*text).substr(begin);
    return make_text(run, std::string(rest.substr(0, byte_of(rest, span.count))));
  }
  run.make(text->size() * sizeof(size_t));
  std::vector<size_t> begins;
  for (size_t at = 0; at < text->size(); at += bytes_of_character(*text, at)) {
    begins.push_back(at);
  }
  std::string picked;
  for (int64_t i = 0; i < span.count; ++i) {
    const size_t at = begins[static_cast<size_t>(span.first + i * span.step)];
    picked += text->substr(at, bytes_of_character(*text, at));
  }
  return make_text(run, std::move(picked));
}

}  // namespace heed::chat
