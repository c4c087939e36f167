// Filters over lists, and the table of all.
#include <algorithm>
#include <array>
#include <unordered_set>

#include "text/chat/template/filter_tables.h"
#include "text/chat/template/values/python_text.h"

namespace heed::chat {
namespace {

Value list_filter(Run& run, const Value& input, const Arguments& arguments) {
  arguments.bound(run, {});
  return make_list(run, items_of(run, input)->items);
}

Value items_filter(Run& run, const Value& input, const Arguments& arguments) {
  arguments.bound(run, {});
  if (input.dict() == nullptr && !input.is<Undefined>()) {
    run.refuse("items: expected a dict, found {}", type_name(input));
  }
  std::vector<Value> items;
  if (const Dict* dict = input.dict()) {
    for (const auto& [key, value] : dict->items) {
      items.push_back(make_list(run, {key, value}, ListKind::tuple));
    }
  }
  return make_list(run, std::move(items), ListKind::generator);
}

Value first_filter(Run& run, const Value& input, const Arguments& arguments) {
  arguments.bound(run, {});
  const List* list = input.list();
  if (list != nullptr && list->kind == ListKind::generator) {
    return list->taken < list->items.size() ? list->items[list->taken++] : make_undefined("the first item");
  }
  if (const std::string* text = input.text()) {
    return text->empty() ? make_undefined("the first item") : item_of(run, input, int64_t{0});
  }
  const ListPointer items = items_of(run, input);
  return items->items.empty() ? make_undefined("the first item") : items->items.front();
}

Value last_filter(Run& run, const Value& input, const Arguments& arguments) {
  arguments.bound(run, {});
  if (input.is_generator()) {
    run.refuse("last: a generator has no last item; `|list` makes a list of it");
  }
  if (const std::string* text = input.text()) {
    return text->empty() ? make_undefined("the last item") : item_of(run, input, int64_t{-1});
  }
  const ListPointer items = items_of(run, input);
  return items->items.empty() ? make_undefined("the last item") : items->items.back();
}

Value reverse_filter(Run& run, const Value& input, const Arguments& arguments) {
  arguments.bound(run, {});
  if (input.text() != nullptr) {
    return slice_of(run, input, {.start = None{}, .stop = None{}, .step = int64_t{-1}});
  }
  if (input.is_generator()) {
    run.refuse("reverse: a generator can't be reversed; `|list` makes a list of it");
  }
  std::vector<Value> items = items_of(run, input)->items;
  std::ranges::reverse(items);
  return make_list(run, std::move(items), ListKind::generator);
}

// "a.b.0" reaches through dicts and lists; a number is an index.
Value reach(Run& run, Value value, const Value& path, const Value& otherwise = {}) {
  if (path.text() == nullptr) {
    return item_of(run, value, path);
  }
  for (const std::string_view part : split(*path.text(), ".", -1)) {
    const bool number =
        !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string_view::npos;
    value =
        item_of(run, value, number ? Value(int64_t{std::stoi(std::string(part))}) : make_text(run, std::string(part)));
    if (value.is<Undefined>() && !otherwise.is<Undefined>() && !otherwise.is<None>()) {
      value = otherwise;
    }
  }
  return value;
}

Value join_filter(Run& run, const Value& input, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"d", "attribute"});
  const std::string separator = to_text(run, given[0]);
  const bool by_attribute = !given[1].is<Undefined>() && !given[1].is<None>();
  std::string joined;
  bool first = true;
  const ListPointer items = items_of(run, input);
  for (const Value& item : items->items) {
    run.step();
    const std::string part = to_text(run, by_attribute ? reach(run, item, given[1]) : item);
    run.make(part.size() + separator.size());
    joined += (std::exchange(first, false) ? "" : separator) + part;
  }
  return make_text(run, std::move(joined));
}

// The arguments behind the first `count`, for another filter or test.
Arguments rest_of(const Arguments& arguments, size_t count, std::string_view name) {
  return {.name = name,
          .values = {arguments.values.begin() + static_cast<int64_t>(count), arguments.values.end()},
          .named = arguments.named};
}

Value map_filter(Run& run, const Value& input, const Arguments& arguments) {
  std::vector<Value> mapped;
  if (!arguments.values.empty()) {
    const std::string& name = text_argument(run, arguments, arguments.values[0], "filter");
    const Arguments rest = rest_of(arguments, 1, name);
    const ListPointer items = items_of(run, input);
    for (const Value& item : items->items) {
      mapped.push_back(apply_filter(run, item, rest));
    }
  } else {
    const std::vector<Value> given = arguments.bound(run, {"attribute", "default"}, 1);
    const ListPointer items = items_of(run, input);
    for (const Value& item : items->items) {
      run.step();
      mapped.push_back(reach(run, item, given[0], given[1]));
    }
  }
  return make_list(run, std::move(mapped), ListKind::generator);
}

enum class Wanted : uint8_t { passing, failing };
enum class Of : uint8_t { item, attribute };

template <Of of, Wanted wanted>
Value select_filter(Run& run, const Value& input, const Arguments& arguments) {
  const size_t before = of == Of::attribute ? 1 : 0;
  if (arguments.values.size() < before) {
    run.refuse("{}: the attribute's name is missing", arguments.name);
  }
  const bool has_test = arguments.values.size() > before;
  const std::string name = has_test ? text_argument(run, arguments, arguments.values[before], "test") : "";
  const Arguments rest = rest_of(arguments, before + (has_test ? 1 : 0), name);
  std::vector<Value> selected;
  const ListPointer items = items_of(run, input);
  for (const Value& item : items->items) {
    run.step();
    const Value tested = of == Of::attribute ? reach(run, item, arguments.values[0]) : item;
    const bool passes = has_test ? apply_test(run, tested, rest) : is_true(tested);
    if (passes == (wanted == Wanted::passing)) {
      selected.push_back(item);
    }
  }
  return make_list(run, std::move(selected), ListKind::generator);
}

// What items are compared by: an attribute, and where wanted, in lower case.
Value key_of(Run& run, const Value& item, const Value& attribute, const Value& case_sensitive) {
  const bool whole = attribute.is<Undefined>() || attribute.is<None>();
  Value key = whole ? item : reach(run, item, attribute);
  return key.text() != nullptr && !is_true(case_sensitive) ? make_text(run, lower_case(*key.text())) : key;
}

struct Keyed {
  Value key, item;
};

std::vector<Value> sorted(Run& run, std::vector<Keyed> items, const Value& reverse) {
  const bool falling = is_true(reverse);
  std::ranges::stable_sort(items, [&](const Keyed& a, const Keyed& b) {
    const int sign = order(run, a.key, b.key);
    return falling ? sign > 0 : sign < 0;
  });
  std::vector<Value> values;
  values.reserve(items.size());
  for (Keyed& one : items) {
    values.push_back(std::move(one.item));
  }
  return values;
}

Value sort_filter(Run& run, const Value& input, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"reverse", "case_sensitive", "attribute"});
  std::vector<Keyed> items;
  const ListPointer all = items_of(run, input);
  for (const Value& item : all->items) {
    items.push_back({key_of(run, item, given[2], given[1]), item});
  }
  return make_list(run, sorted(run, std::move(items), given[0]));
}

Value dictsort_filter(Run& run, const Value& input, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"case_sensitive", "by", "reverse"});
  const std::string by = optional_text(run, arguments, given[1], "by").value_or("key");
  if (input.dict() == nullptr || (by != "key" && by != "value")) {
    run.refuse("dictsort: expected a dict, and 'key' or 'value' to sort by");
  }
  std::vector<Keyed> items;
  for (const auto& [key, value] : input.dict()->items) {
    items.push_back(
        {key_of(run, by == "key" ? key : value, {}, given[0]), make_list(run, {key, value}, ListKind::tuple)});
  }
  return make_list(run, sorted(run, std::move(items), given[2]));
}

Value unique_filter(Run& run, const Value& input, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"case_sensitive", "attribute"});
  std::vector<Value> items, others;
  std::unordered_set<std::string> seen;
  const ListPointer all = items_of(run, input);
  for (const Value& item : all->items) {
    run.step();
    const Value key = key_of(run, item, given[1], given[0]);
    if (key.text() != nullptr) {
      if (seen.insert(*key.text()).second) {
        items.push_back(item);
      }
    } else if (std::ranges::none_of(others, [&](const Value& other) { return equal(run, key, other); })) {
      others.push_back(key);
      items.push_back(item);
    }
  }
  return make_list(run, std::move(items), ListKind::generator);
}

enum class Extreme : uint8_t { least, most };

template <Extreme wanted>
Value extreme_filter(Run& run, const Value& input, const Arguments& arguments) {
  const std::vector<Value> given = arguments.bound(run, {"case_sensitive", "attribute"});
  const ListPointer items = items_of(run, input);
  Value best = make_undefined("an item of nothing"), best_key;
  for (const Value& item : items->items) {
    Value key = key_of(run, item, given[1], given[0]);
    const int sign =
        &item == items->items.data() ? -1 : order(run, key, best_key) * (wanted == Extreme::least ? 1 : -1);
    if (sign < 0) {
      best = item;
      best_key = std::move(key);
    }
  }
  return best;
}

constexpr std::array kListFilters{
    Filter{"dictsort", dictsort_filter},
    Filter{"first", first_filter},
    Filter{"items", items_filter},
    Filter{"join", join_filter},
    Filter{"last", last_filter},
    Filter{"list", list_filter},
    Filter{"map", map_filter},
    Filter{"max", extreme_filter<Extreme::most>},
    Filter{"min", extreme_filter<Extreme::least>},
    Filter{"reject", select_filter<Of::item, Wanted::failing>},
    Filter{"rejectattr", select_filter<Of::attribute, Wanted::failing>},
    Filter{"reverse", reverse_filter},
    Filter{"select", select_filter<Of::item, Wanted::passing>},
    Filter{"selectattr", select_filter<Of::attribute, Wanted::passing>},
    Filter{"sort", sort_filter},
    Filter{"unique", unique_filter},
};

const Filter* find_filter(std::string_view name) {
  for (const std::span<const Filter> table : {value_filters(), list_filters()}) {
    for (const Filter& filter : table) {
      if (filter.name == name) {
        return &filter;
      }
    }
  }
  return nullptr;
}

}  // namespace

std::span<const Filter> list_filters() { return kListFilters; }

bool is_filter(std::string_view name) { return find_filter(name) != nullptr; }

Value apply_filter(Run& run, const Value& input, const Arguments& arguments) {
  const Level level(run);  // map calls filters by name
  run.step();
  const Filter* filter = find_filter(arguments.name);
  if (filter == nullptr) {
    run.refuse("the filter '{}' is not known", arguments.name);
  }
  return filter->apply(run, input, arguments);
}

}  // namespace heed::chat
